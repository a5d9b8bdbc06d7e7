package scenarios

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"

	"msgbench/measure"
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
	v := &server{conn: s.conn(), handle: handle}
	m := &results.Measurement{}
	counters := newCounters()
	cpu := newCPUWindow(s.Clocks)
	if err := v.receive(); err != nil {
		return nil, err
	}
	err := v.until(kindMark, func() {
		runtime.GC() // before the window, not in it
		counters.begin()
		v.answered = 0
	})
	if err != nil {
		return nil, err
	}
	// On a host of its own this side reads the CPU clocks there. Its window is that of the client, later by the way there: as
	// many requests, and as many times of waiting for the next.
	if err := v.receive(); err != nil {
		return nil, err
	}
	from := measure.Now()
	if err := cpu.begin(); err != nil {
		return nil, err
	}
	var till int64
	var cpuErr error
	err = v.until(kindFinish, func() {
		cpuErr = cpu.end()
		till = measure.Now()
		counters.end(m, s.Role)
	})
	if err := errors.Join(err, cpuErr); err != nil {
		return nil, err
	}
	m.Received = v.answered
	if m.CPUNs = cpu.used(); m.CPUNs != nil {
		m.WindowNs = till - from
	}
	return m, nil
}

// server is the side that answers.
type server struct {
	conn     transports.Conn
	handle   func(request []byte, seq uint64) ([]byte, error)
	request  []byte // the one to answer next
	seq      uint64 // its number
	answered int64  // requests, without control messages
}

// receive waits for the next request.
func (v *server) receive() (err error) {
	if v.request, err = v.conn.Recv(); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the client went away before it had finished")
		}
		return fmt.Errorf("receive request %d: %w", v.seq+1, err)
	}
	v.seq++
	return nil
}

// until answers the request that is there, and all that follow up to the control message of kind last. Before that one is
// answered too, it calls then.
func (v *server) until(last kind, then func()) error {
	for {
		k := kindOf(v.request)
		if err := checkEnvelope(v.request, v.seq, k); err != nil {
			return err
		}
		reply := v.request
		switch k {
		case kindRequest:
			var err error
			if reply, err = v.handle(v.request, v.seq); err != nil {
				return err
			}
			v.answered++
			binary.LittleEndian.PutUint32(reply[16:], uint32(kindReply))
		case last:
			then()
		default:
			return fmt.Errorf("message %d is of kind %d, which a client does not send there", v.seq, k)
		}
		if err := v.conn.Send(reply); err != nil {
			return fmt.Errorf("send reply %d: %w", v.seq, err)
		}
		if k == last {
			return nil
		}
		if err := v.receive(); err != nil {
			return err
		}
	}
}
