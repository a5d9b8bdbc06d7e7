package scenarios

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"

	"msgbench/results"
	"msgbench/transports"
)

// requester numbers the messages of a client and checks the replies' envelopes. Replies come in the order of requests.
type requester struct {
	conn    transports.Conn
	seq     uint64 // of the last message sent
	replied uint64 // of the last reply
	control []byte
}

func newRequester(c transports.Conn) *requester {
	return &requester{conn: c, control: make([]byte, envelope)}
}

// send sends msg as the next message of its kind, stamped with now.
func (r *requester) send(msg []byte, now int64, k kind) error {
	r.seq++
	putEnvelope(msg, r.seq, now, k)
	if err := r.conn.Send(msg); err != nil {
		return fmt.Errorf("send message %d: %w", r.seq, err)
	}
	return nil
}

// receive returns the next reply, which is the one to the oldest request.
func (r *requester) receive(k kind) ([]byte, error) {
	reply, err := r.conn.Recv()
	if err != nil {
		return nil, fmt.Errorf("receive reply %d: %w", r.replied+1, err)
	}
	r.replied++
	return reply, checkEnvelope(reply, r.replied, k)
}

func (r *requester) controlMessage(k kind) error {
	if err := r.send(r.control, 0, k); err != nil {
		return err
	}
	_, err := r.receive(k)
	return err
}

// mark and finish tell the other side where the window begins and ends.
func (r *requester) mark() error   { return r.controlMessage(kindMark) }
func (r *requester) finish() error { return r.controlMessage(kindFinish) }

// smallMessage is up to how many bytes a request is copied before it is answered. A larger one is answered in place; but
// writing into a shared cache line of the client's costs more than copying a small one.
const smallMessage = 4096

// answer is where the reply to a request is to be made: a copy of it in out, or the request itself.
func answer(out, request []byte) []byte {
	if len(request) > smallMessage || len(request) > len(out) {
		return request
	}
	return out[:copy(out, request)]
}

// serve answers requests with what handle makes of them until the client has finished.
func serve(s *Side, handle func(request []byte, seq uint64) ([]byte, error)) (*results.Measurement, error) {
	m := &results.Measurement{}
	counters := newCounters()
	conn := s.conn()
	seq := uint64(0)
	for {
		request, err := conn.Recv()
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
			counters.end(m, s.Role)
		default:
			return nil, fmt.Errorf("message %d is of kind %d, which a client does not send", seq, k)
		}
		if err := conn.Send(reply); err != nil {
			return nil, fmt.Errorf("send reply %d: %w", seq, err)
		}
		if k == kindFinish {
			return m, nil
		}
	}
}
