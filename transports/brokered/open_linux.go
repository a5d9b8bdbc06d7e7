package brokered

import (
	"fmt"
	"net"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"msgbench/transports"
	"msgbench/transports/internal/rawfd"
)

// open leaves the waiting with the runtime's poller.
func (x *wire) open(c net.Conn) error {
	p, err := rawfd.NewPolled(c)
	if err != nil {
		return fmt.Errorf("%s: %w", x.name, err)
	}
	x.stream = p
	x.settings(p.SocketFact(unix.SOL_SOCKET, unix.SO_SNDBUF), p.SocketFact(unix.SOL_SOCKET, unix.SO_RCVBUF))
	return nil
}

// openBlocking takes the descriptor away from the runtime: the caller's thread does the I/O.
func (x *wire) openBlocking(c net.Conn, o transports.Options) error {
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

// segmentCost is what the kernel counts for a small write beyond its bytes, as in packages tcp and uds.
const segmentCost = 2304

func (x *wire) settings(sndbuf, rcvbuf int) {
	x.facts = map[string]string{"sndbuf": strconv.Itoa(sndbuf), "rcvbuf": strconv.Itoa(rcvbuf)}
	x.full = func(f int) int { return sndbuf / 2 / (f + segmentCost) }
}
