package uds

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sys/unix"

	"msgbench/transports"
	"msgbench/transports/internal/rawfd"
)

// network is the kind of socket as package net calls it.
const network = "unixpacket"

// maxPath is the length of the longest path a socket can be bound to, in bytes: 108 with the final zero.
const maxPath = 107

// Info tells what Unix domain sockets can do.
func (*Transport) Info() transports.Info {
	return transports.Info{
		Name:       "uds",
		Summary:    "Unix domain socket (SOCK_SEQPACKET), blocking or polled system calls",
		Waits:      []transports.Wait{transports.Block, transports.Spin, transports.Hybrid},
		MaxMessage: maxMessage,
		LockThread: true,
		Buffers:    true,
	}
}

// newConn takes the descriptor of c away from the runtime.
func newConn(c *net.UnixConn, o transports.Options) (transports.Conn, error) {
	defer c.Close()
	if o.Buffer > 0 {
		// The kernel doubles what is asked for, to have room for its own.
		if err := errors.Join(c.SetWriteBuffer(o.Buffer/2), c.SetReadBuffer(o.Buffer/2)); err != nil {
			return nil, fmt.Errorf("uds: buffer of %d B: %w", o.Buffer, err)
		}
	}
	d, err := rawfd.Dup(c)
	if err != nil {
		return nil, fmt.Errorf("uds: %w", err)
	}
	fd, err := rawfd.Socket(d, o.Wait)
	if err != nil {
		return nil, fmt.Errorf("uds: %w", err)
	}
	sndbuf, rcvbuf := fd.SocketFact(unix.SOL_SOCKET, unix.SO_SNDBUF), fd.SocketFact(unix.SOL_SOCKET, unix.SO_RCVBUF)
	return newPacketConn(fd, o.MaxMessage, sndbuf, map[string]string{
		"socket": "SOCK_SEQPACKET", "sndbuf": strconv.Itoa(sndbuf), "rcvbuf": strconv.Itoa(rcvbuf), "packet": strconv.Itoa(min(packetSize, sndbuf-32)),
	}), nil
}

// InFlight is how many messages of size bytes the socket surely takes. The kernel counts the memory of a packet, not its
// bytes (768 B for 40, with today's kernels), so one is sent through a socket of its own and the kernel asked. Sizes up
// to this one count at most as much.
func (c *conn) InFlight(size int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.known[size]
	if !ok {
		n = 1 // also if the kernel can't be asked
		if cost, err := messageCost(size, c.packet, c.sndbuf); err == nil {
			n = max(1, c.sndbuf/cost)
		}
		c.known[size] = n
	}
	return n
}

// messageCost is how much of a socket's send buffer one message of size bytes takes, in bytes. It gives up once the
// message has filled the buffer.
func messageCost(size, packet, sndbuf int) (int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	// The kernel doubles what is set, as it did for what was read.
	if err := unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUF, sndbuf/2); err != nil {
		return 0, err
	}
	buf := make([]byte, min(packet, headSize+size))
	for left := size; ; {
		n := min(left, packet-headSize)
		if _, err := unix.Write(fds[0], buf[:headSize+n]); err == unix.EAGAIN {
			return sndbuf + 1, nil
		} else if err != nil {
			return 0, err
		}
		if left -= n; left == 0 {
			return unix.IoctlGetInt(fds[0], unix.SIOCOUTQ)
		}
	}
}
