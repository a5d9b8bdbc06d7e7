// Package pipe moves messages through a pair of named pipes: FIFOs, and on Windows one duplex named pipe.
package pipe

import "msgbench/transports"

// Transport is the pipe transport.
type Transport struct{}

var _ transports.Transport = (*Transport)(nil)

// New returns the pipe transport.
func New() transports.Transport { return &Transport{} }

// maxMessage is the size of the largest message, in bytes. A message passes a pipe in pieces, so this bounds only memory.
const maxMessage = 64 << 20
