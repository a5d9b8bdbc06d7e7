//go:build !linux

package uds

import (
	"fmt"
	"net"

	"msgbench/transports"
	"msgbench/transports/internal/frame"
)

// network is the kind of socket as package net calls it.
const network = "unix"

// maxPath is the length of the longest path a socket can be bound to, in bytes, on the system that allows the least.
const maxPath = 103

// Info tells what Unix domain sockets can do.
func (*Transport) Info() transports.Info {
	return transports.Info{
		Name:       "uds",
		Summary:    "Unix domain socket (SOCK_STREAM), through the Go runtime's poller",
		Waits:      []transports.Wait{transports.Block},
		MaxMessage: maxMessage,
	}
}

// bufferSize is asked for, since some systems give 8 KiB, in bytes.
const bufferSize = 256 << 10

func newConn(c *net.UnixConn, o transports.Options) (transports.Conn, error) {
	for _, err := range []error{c.SetWriteBuffer(bufferSize), c.SetReadBuffer(bufferSize)} {
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("uds: %w", err)
		}
	}
	facts := map[string]string{"socket": "SOCK_STREAM", "buffers": fmt.Sprint(bufferSize)}
	return frame.NewConn("uds", frame.Over(c), o.MaxMessage, inFlight, facts), nil
}

// inFlight is a guess on the safe side of how many frames of size bytes a connection takes: a quarter of one buffer, with
// a generous cost for each frame.
func inFlight(size int) int { return bufferSize / 4 / (size + 1024) }
