//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package pipe

import (
	"errors"

	"msgbench/transports"
)

var errSystem = errors.New("pipe: not made for this operating system")

// Info tells that pipes can do nothing here.
func (*Transport) Info() transports.Info {
	return transports.Info{Name: "pipe", Summary: "named pipes", Waits: []transports.Wait{transports.Block}, MaxMessage: maxMessage}
}

// Probe tells that there is no pipe here.
func (*Transport) Probe() error { return errSystem }

// Listen fails.
func (*Transport) Listen(transports.Options) (transports.Listener, error) { return nil, errSystem }

// Dial fails.
func (*Transport) Dial(string, transports.Options) (transports.Conn, error) { return nil, errSystem }
