package scenarios

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"

	"msgbench/results"
	"msgbench/transports"
)

// PingPong sends a counter and gets it back plus one, one message in flight. Payloads of 8 B and more start with the
// counter; the rest is a fixed pattern. Shorter ones carry the pattern alone, and the envelope's sequence number counts.
var PingPong = Scenario{
	Name:       "ping-pong",
	Summary:    "one request, one reply, one in flight: a counter comes back plus one",
	Pattern:    transports.RequestReply,
	MaxMessage: func(p Params) int { return envelope + p.Payload },
	Client:     pingPongClient,
	Server:     pingPongServer,
}

func pingPongClient(s *Side) (*results.Measurement, error) {
	p := &pinger{requester: newRequester(s.Conn), message: make([]byte, envelope+s.Params.Payload)}
	fillPattern(p.message[envelope:])
	m, err := drive(s, p.requester, p)
	if m != nil {
		m.LatencyKind = latencyKind(s.Params)
		m.Messages = m.Ops
		m.PayloadBytes = m.Ops * int64(s.Params.Payload)
	}
	return m, err
}

type pinger struct {
	*requester
	message []byte
	counter uint64
}

// do sends one request and checks every byte of its reply.
func (p *pinger) do(now int64) (int64, error) {
	payload := p.message[envelope:]
	p.counter++
	if len(payload) >= 8 {
		binary.LittleEndian.PutUint64(payload, p.counter)
	}
	reply, err := p.exchange(p.message, now, kindRequest, kindReply)
	if err != nil {
		return 0, err
	}
	got := reply[envelope:]
	if len(got) != len(payload) {
		return 0, fmt.Errorf("reply %d carries %d B, want %d B", p.seq, len(got), len(payload))
	}
	if len(got) >= 8 {
		if c := binary.LittleEndian.Uint64(got); c != p.counter+1 {
			return 0, fmt.Errorf("reply %d carries the counter %d, want %d", p.seq, c, p.counter+1)
		}
		got, payload = got[8:], payload[8:]
	}
	if !bytes.Equal(got, payload) {
		return 0, fmt.Errorf("reply %d is not what was sent", p.seq)
	}
	return 1, nil
}

// pingPongServer answers each request with its counter plus one.
func pingPongServer(s *Side) (*results.Measurement, error) {
	out := make([]byte, envelope+s.Params.Payload)
	return serve(s, func(request []byte, seq uint64) ([]byte, error) {
		if len(request) != len(out) {
			return nil, fmt.Errorf("request %d carries %d B, want %d B", seq, len(request)-envelope, s.Params.Payload)
		}
		// A large message is answered in place; a small one is copied, since writing into a shared cache line of the
		// client's costs more than the copy.
		reply := request
		if len(request) <= 4096 {
			reply = out
			copy(reply, request)
		}
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
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
}

// requester numbers the messages of a client and checks the replies' envelopes.
type requester struct {
	conn    transports.Conn
	seq     uint64
	control []byte
}

func newRequester(c transports.Conn) *requester {
	return &requester{conn: c, control: make([]byte, envelope)}
}

// exchange sends msg as the next message of its kind, stamped with now, and returns the reply.
func (r *requester) exchange(msg []byte, now int64, k, want kind) ([]byte, error) {
	r.seq++
	putEnvelope(msg, r.seq, now, k)
	if err := r.conn.Send(msg); err != nil {
		return nil, fmt.Errorf("send message %d: %w", r.seq, err)
	}
	reply, err := r.conn.Recv()
	if err != nil {
		return nil, fmt.Errorf("receive reply %d: %w", r.seq, err)
	}
	return reply, checkEnvelope(reply, r.seq, want)
}

// mark and finish tell the other side where the window begins and ends.
func (r *requester) mark() error { _, err := r.exchange(r.control, 0, kindMark, kindMark); return err }
func (r *requester) finish() error {
	_, err := r.exchange(r.control, 0, kindFinish, kindFinish)
	return err
}

// serve answers requests with what handle makes of them until the client has finished.
func serve(s *Side, handle func(request []byte, seq uint64) ([]byte, error)) (*results.Measurement, error) {
	m := &results.Measurement{}
	counters := newCounters()
	seq := uint64(0)
	for {
		request, err := s.Conn.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the client went away before it had finished")
			}
			return nil, fmt.Errorf("receive request %d: %w", seq+1, err)
		}
		seq++
		k := kindOf(request)
		if err := checkEnvelope(request, seq, k); err != nil {
			return nil, err
		}
		var reply []byte
		switch k {
		case kindRequest:
			if reply, err = handle(request, seq); err != nil {
				return nil, err
			}
			m.Received++
			binary.LittleEndian.PutUint32(reply[16:], uint32(kindReply))
		case kindMark:
			m.Received = 0
			reply = request
			runtime.GC() // before the window, not in it
			counters.begin()
		case kindFinish:
			reply = request
			counters.end(m, results.Server)
		default:
			return nil, fmt.Errorf("message %d is of kind %d, which a client does not send", seq, k)
		}
		if err := s.Conn.Send(reply); err != nil {
			return nil, fmt.Errorf("send reply %d: %w", seq, err)
		}
		if k == kindFinish {
			return m, nil
		}
	}
}
