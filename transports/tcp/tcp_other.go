//go:build !linux

package tcp

import (
	"fmt"
	"net"

	"msgbench/transports"
	"msgbench/transports/internal/frame"
)

// Info tells what TCP can do.
func (*Transport) Info() transports.Info {
	return transports.Info{
		Name:       "tcp",
		Network:    true,
		Summary:    "TCP over loopback, through the Go runtime's poller",
		Waits:      []transports.Wait{transports.Block},
		MaxMessage: maxMessage,
	}
}

// bufferSize is asked for on systems whose defaults differ or are not known, in bytes.
const bufferSize = 256 << 10

func newConn(c *net.TCPConn, o transports.Options) (transports.Conn, error) {
	for _, err := range []error{c.SetNoDelay(!o.Nagle), c.SetWriteBuffer(bufferSize), c.SetReadBuffer(bufferSize)} {
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("tcp: %w", err)
		}
	}
	nodelay := "on"
	if o.Nagle {
		nodelay = "off"
	}
	facts := map[string]string{"nodelay": nodelay, "buffers": fmt.Sprint(bufferSize)}
	return frame.NewConn("tcp", frame.Over(c), o.MaxMessage, inFlight, facts), nil
}

// inFlight is a guess on the safe side of how many frames of size bytes a connection takes: a quarter of one buffer, with
// a generous cost for each frame.
func inFlight(size int) int { return bufferSize / 4 / (size + 2048) }
