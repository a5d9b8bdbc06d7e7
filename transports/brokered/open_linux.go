package brokered

import (
	"fmt"
	"net"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"msgbench/transports"
	"msgbench/transports/internal/frame"
	"msgbench/transports/internal/rawfd"
)

// open takes the descriptor of a connection away from the runtime: the caller's thread does the I/O.
func (x *wire) open(c net.Conn, o transports.Options) error {
	defer c.Close()
	d, err := rawfd.Dup(c.(syscall.Conn))
	if err != nil {
		return fmt.Errorf("%s: %w", x.name, err)
	}
	fd, err := rawfd.Socket(d, o.Wait)
	if err != nil {
		return fmt.Errorf("%s: %w", x.name, err)
	}
	x.stream = fd
	x.settings(fd.SocketFact(unix.SOL_SOCKET, unix.SO_SNDBUF), fd.SocketFact(unix.SOL_SOCKET, unix.SO_RCVBUF))
	return nil
}

// openPolled leaves the connection with the runtime's poller, since what comes is handed to another goroutine.
func (x *wire) openPolled(c net.Conn, _ transports.Options) error {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return fmt.Errorf("%s: %w", x.name, err)
	}
	var sndbuf, rcvbuf int
	var errs [2]error
	err = raw.Control(func(fd uintptr) {
		sndbuf, errs[0] = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF)
		rcvbuf, errs[1] = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
	})
	for _, e := range append(errs[:], err) {
		if e != nil {
			return fmt.Errorf("%s: %w", x.name, e)
		}
	}
	x.stream = frame.Over(c)
	x.settings(sndbuf, rcvbuf)
	return nil
}

// segmentCost is what the kernel counts for a small write beyond its bytes, as in packages tcp and uds.
const segmentCost = 2304

func (x *wire) settings(sndbuf, rcvbuf int) {
	x.facts = map[string]string{"sndbuf": strconv.Itoa(sndbuf), "rcvbuf": strconv.Itoa(rcvbuf)}
	x.full = func(f int) int { return sndbuf / 2 / (f + segmentCost) }
}
