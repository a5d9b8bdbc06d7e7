package brokered

import (
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sys/unix"

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

// segmentCost is what the kernel counts for a small write beyond its bytes, as in packages tcp and uds.
const segmentCost = 2304

func (x *wire) settings(sndbuf, rcvbuf int) {
	x.facts = map[string]string{"sndbuf": strconv.Itoa(sndbuf), "rcvbuf": strconv.Itoa(rcvbuf)}
	x.full = func(f int) int { return sndbuf / 2 / (f + segmentCost) }
}
