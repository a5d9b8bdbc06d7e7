package uds

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"msgbench/transports"
	"msgbench/transports/internal/frame"
	"msgbench/transports/internal/rawfd"
)

// headSize is the size of the head of each packet, in bytes: how many bytes of the message are still to come, this
// packet's included, as a little-endian u32. So no packet is empty: an empty one could not be told from the end.
const headSize = 4

// packetSize is the size of the largest packet, head included, in bytes. Messages that need more go in several. Below
// 48 KiB large messages lose up to half their throughput (BenchmarkPacketSize); above, nothing is gained, and the socket's
// buffer of usually 208 KiB should hold two. With 80 KiB a payload of 64 KiB goes as one.
const packetSize = 80 << 10

// copyLimit is up to which size a message is copied behind its head, in bytes, instead of going as a vector of two.
const copyLimit = 16 << 10

// conn is a connection over a SOCK_SEQPACKET socket.
type conn struct {
	fd    *rawfd.FD
	max   int // bytes of the largest message
	in    []byte
	out   []byte
	facts map[string]string

	packet int // bytes of the largest packet we send
	sndbuf int // bytes of memory the kernel lets sent packets take
	mu     sync.Mutex
	known  map[int]int // results of InFlight by message size
}

var _ transports.Conn = (*conn)(nil)

func newPacketConn(fd *rawfd.FD, max, sndbuf int, facts map[string]string) *conn {
	return &conn{
		// A packet must fit into the buffer; 32 B of that are the kernel's.
		packet: min(packetSize, sndbuf-32),
		fd:     fd, max: max, facts: facts, sndbuf: sndbuf, known: map[int]int{},
		// Room for one packet behind the largest message, so that one that is too long is seen and not cut.
		in:  make([]byte, headSize+max+packetSize),
		out: make([]byte, min(headSize+min(max, copyLimit), sndbuf-32)),
	}
}

// Send sends a message as one packet, or as several if it is large.
func (c *conn) Send(msg []byte) error {
	if len(msg) > c.max {
		return fmt.Errorf("uds: send: %w", frame.TooLarge(len(msg), c.max))
	}
	if err := c.send(msg); err != nil {
		return fmt.Errorf("uds: send: %w", err)
	}
	return nil
}

func (c *conn) send(msg []byte) error {
	binary.LittleEndian.PutUint32(c.out, uint32(len(msg)))
	if len(msg) <= len(c.out)-headSize {
		n := copy(c.out[headSize:], msg)
		return c.fd.WriteBoth(c.out[:headSize+n], nil)
	}
	for len(msg) > 0 {
		n := min(len(msg), c.packet-headSize)
		binary.LittleEndian.PutUint32(c.out, uint32(len(msg)))
		if err := c.fd.WriteBoth(c.out[:headSize], msg[:n]); err != nil {
			return err
		}
		msg = msg[n:]
	}
	return nil
}

// Recv receives a message, packet by packet, into one buffer.
func (c *conn) Recv() ([]byte, error) {
	msg, err := c.recv()
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("uds: receive: %w", err)
	}
	return msg, err
}

func (c *conn) recv() ([]byte, error) {
	left, n, err := c.readPacket(c.in)
	if err != nil {
		return nil, err
	}
	if left > c.max {
		return nil, fmt.Errorf("packet announces %d B: %w, at most %d B", left, transports.ErrTooLarge, c.max)
	}
	size, have := left, n
	for have < size {
		// The head of a further packet goes where the last bytes of the message so far are; they are put back.
		at := c.in[have : have+headSize]
		kept := [headSize]byte(at)
		left, n, err = c.readPacket(c.in[have:])
		copy(at, kept[:])
		switch {
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case left != size-have || n == 0:
			return nil, fmt.Errorf("packet says %d B are left of a message, want %d: %w", left, size-have, transports.ErrFrame)
		}
		have += n
	}
	if have > size {
		return nil, fmt.Errorf("packet with %d B more than its message: %w", have-size, transports.ErrFrame)
	}
	return c.in[headSize : headSize+size : headSize+size], nil
}

// readPacket receives one packet into b: what its head says is left of the message, and how many bytes of it are here.
func (c *conn) readPacket(b []byte) (left, n int, err error) {
	n, err = c.fd.ReadPacket(b)
	if err != nil {
		return 0, 0, err
	}
	if n < headSize || n > len(b) {
		return 0, 0, fmt.Errorf("packet of %d B: %w", n, transports.ErrFrame)
	}
	return int(binary.LittleEndian.Uint32(b)), n - headSize, nil
}

// Facts are the settings of the socket.
func (c *conn) Facts() map[string]string { return c.facts }

// Close closes the connection.
func (c *conn) Close() error { return c.fd.Close() }
