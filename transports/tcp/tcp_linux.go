package tcp

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sys/unix"

	"msgbench/transports"
	"msgbench/transports/internal/frame"
	"msgbench/transports/internal/rawfd"
)

// Info tells what TCP can do.
func (*Transport) Info() transports.Info {
	return transports.Info{
		Name:       "tcp",
		Network:    true,
		Summary:    "TCP over loopback, blocking or polled system calls",
		Waits:      []transports.Wait{transports.Block, transports.Spin, transports.Hybrid},
		MaxMessage: maxMessage,
		LockThread: true,
		Buffers:    true,
	}
}

// newConn takes the descriptor of c away from the runtime.
func newConn(c *net.TCPConn, o transports.Options) (transports.Conn, error) {
	defer c.Close()
	if err := c.SetNoDelay(!o.Nagle); err != nil {
		return nil, fmt.Errorf("tcp: %w", err)
	}
	if o.Buffer > 0 {
		// The kernel doubles what is asked for, to have room for its own.
		if err := errors.Join(c.SetWriteBuffer(o.Buffer/2), c.SetReadBuffer(o.Buffer/2)); err != nil {
			return nil, fmt.Errorf("tcp: buffer of %d B: %w", o.Buffer, err)
		}
	}
	d, err := rawfd.Dup(c)
	if err != nil {
		return nil, fmt.Errorf("tcp: %w", err)
	}
	fd, err := rawfd.Socket(d, o.Wait)
	if err != nil {
		return nil, fmt.Errorf("tcp: %w", err)
	}
	sndbuf, rcvbuf := fd.SocketFact(unix.SOL_SOCKET, unix.SO_SNDBUF), fd.SocketFact(unix.SOL_SOCKET, unix.SO_RCVBUF)
	nodelay := "off"
	if fd.SocketFact(unix.IPPROTO_TCP, unix.TCP_NODELAY) > 0 {
		nodelay = "on"
	}
	facts := map[string]string{"nodelay": nodelay, "sndbuf": strconv.Itoa(sndbuf), "rcvbuf": strconv.Itoa(rcvbuf)}
	return frame.NewConn("tcp", fd, o.MaxMessage, func(f int) int { return inFlight(f, sndbuf) }, facts), nil
}

// segmentCost is what the kernel counts for one small write beyond its bytes, in bytes: its descriptor and the rest of
// the memory it lies in, rounded up.
const segmentCost = 2304

// inFlight is how many frames of size bytes the connection surely takes. Only the sender's buffer is counted on: it keeps
// what the receiver's can't take, and it only ever grows. Half of it is left for rounding.
func inFlight(size, sndbuf int) int { return sndbuf / 2 / (size + segmentCost) }
