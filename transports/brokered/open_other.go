//go:build !linux

package brokered

import (
	"net"

	"msgbench/transports"
	"msgbench/transports/internal/frame"
)

func (x *wire) openBlocking(c net.Conn, _ transports.Options) error { return x.open(c) }

// open leaves the connection with the runtime's poller.
func (x *wire) open(c net.Conn) error {
	x.stream = frame.Over(c)
	x.facts = map[string]string{}
	// A guess on the safe side: a quarter of the smallest default buffer, with a generous cost for each frame.
	x.full = func(f int) int { return (64 << 10) / 4 / (f + 2048) }
	return nil
}
