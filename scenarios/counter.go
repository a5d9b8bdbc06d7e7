package scenarios

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"msgbench/results"
	"msgbench/transports"
)

// counterMessage is the request of ping-pong and pipeline: payloads of 8 B and more start with a counter, which is the
// message's sequence number, and comes back plus one; the rest is a fixed pattern. Shorter ones are the pattern alone.
type counterMessage []byte

func newCounterMessage(payload int) counterMessage {
	m := make(counterMessage, envelope+payload)
	fillPattern(m[envelope:])
	return m
}

// message is a counterMessage that the side's connections can carry: those of a service framework tell its fields apart.
func (s *Side) message() counterMessage {
	m := newCounterMessage(s.Params.Payload)
	if len(s.Conns) > 0 {
		if c, ok := s.conn().(transports.TypedConn); ok {
			c.Shape(m[envelope:])
		}
	}
	return m
}

// put writes the counter of message seq.
func (m counterMessage) put(seq uint64) {
	if len(m) >= envelope+8 {
		binary.LittleEndian.PutUint64(m[envelope:], seq)
	}
}

// check compares every byte of the payload of reply seq.
func (m counterMessage) check(reply []byte, seq uint64) error {
	return m.compare("reply", reply, seq, seq+1)
}

// compare compares every byte of the payload of message seq, which is to carry that counter; what is its name in errors.
func (m counterMessage) compare(what string, msg []byte, seq, counter uint64) error {
	if len(msg) != len(m) {
		return fmt.Errorf("%s %d carries %d B, want %d B", what, seq, len(msg)-envelope, len(m)-envelope)
	}
	got, want := msg[envelope:], m[envelope:]
	if len(got) >= 8 {
		if c := binary.LittleEndian.Uint64(got); c != counter {
			return fmt.Errorf("%s %d carries the counter %d, want %d", what, seq, c, counter)
		}
		got, want = got[8:], want[8:]
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s %d is not what was sent", what, seq)
	}
	return nil
}

// counterServer answers each request with its counter plus one.
func counterServer(s *Side) (*results.Measurement, error) {
	size := envelope + s.Params.Payload
	out := make([]byte, min(size, smallMessage))
	return serve(s, func(request []byte, seq uint64) ([]byte, error) {
		if len(request) != size {
			return nil, fmt.Errorf("request %d carries %d B, want %d B", seq, len(request)-envelope, s.Params.Payload)
		}
		reply := answer(out, request)
		if len(reply) >= envelope+8 {
			p := reply[envelope:]
			binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)+1)
		}
		return reply, nil
	})
}

// fillPattern writes bytes that differ from their neighbours and from page to page, so that a piece out of place shows.
func fillPattern(b []byte) {
	x := uint32(12345)
	for i := range b {
		x = xorshift32(x)
		b[i] = byte(x)
	}
}

// xorshift32 is the next number of Marsaglia's generator (13, 17, 5); x is never 0.
func xorshift32(x uint32) uint32 {
	x ^= x << 13
	x ^= x >> 17
	return x ^ x<<5
}
