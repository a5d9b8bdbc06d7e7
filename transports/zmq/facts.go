package zmq

import (
	"strconv"

	zmq4 "github.com/go-zeromq/zmq4"

	"msgbench/transports/internal/mqsock"
)

// readQueue is how many messages a socket of zmq4 v0.17.0 reads ahead; its reader holds one more. REQ reads none ahead.
const readQueue = 10

// InFlight counts what the peer's library reads ahead, and what surely fits into our send buffer. zmq4 v0.17.0 itself
// queues nothing on the way out: Send writes. A peer of another library reads further ahead (libzmq: 1000 messages).
func (c *conn) InFlight(size int) int {
	if c.out.typ == zmq4.Req || c.out.typ == zmq4.Rep {
		return 1
	}
	buffer := mqsock.SendBuffer(c.out.wire.raw)
	if c.kind == mqsock.TCP {
		// Linux charges a message its bytes and less than 1 KiB, and wakes a writer when a third of the buffer is free.
		return readQueue + 1 + buffer/2/(size+1024)
	}
	// Linux charges a message up to twice its bytes and 1 KiB, and wakes a writer only when three quarters of the buffer
	// are free: with more than a quarter in use a Send may stay blocked though there is room.
	return readQueue + 1 + buffer/4/(2*size+1024)
}

// Facts names the library, the sockets and what is known of
// their queues and buffers.
func (c *conn) Facts() map[string]string {
	facts := map[string]string{
		"library":    library,
		"socket":     string(c.links[0].typ),
		"send_queue": "0", // Send writes to the kernel
		"recv_queue": strconv.Itoa(readQueue),
		"hwm":        "none", // the library has none; the kernel's buffers hold a sender back
	}
	switch c.out.typ {
	case zmq4.Req:
		facts["recv_queue"] = "0"
	case zmq4.Rep:
		facts["send_queue"] = "1" // a goroutine writes it
	}
	if len(c.links) > 1 {
		facts["way_back_socket"] = string(c.links[1].typ)
	}
	mqsock.Facts(c.links[0].wire.raw, facts)
	return facts
}
