package scenarios

import (
	"fmt"
	"math"
	"runtime"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/transports"
)

// subscribe receives publications until the publisher has finished.
func subscribe(s *Side) (*results.Measurement, error) {
	if err := oneWayClock(); err != nil {
		return nil, err
	}
	r := &subscriber{s: s, in: s.conn(), want: s.message(), control: make([]byte, envelope), marked: math.MaxUint64}
	if s.Params.Mode != modeFlood {
		r.latency = newOneWay(s.Params.Rate, 0, 1)
	}
	msg, err := s.conn().Recv()
	if err != nil {
		return nil, err
	}
	if err := checkEnvelope(msg, 0, kindHello); err != nil {
		return nil, err
	}
	if endpoint := string(msg[envelope:]); endpoint != "" {
		if s.Broadcast == nil {
			return nil, fmt.Errorf("the publisher has a broadcast of its own, this side has none")
		}
		if r.in, err = s.Broadcast.DialBroadcast(endpoint, s.Options); err != nil {
			return nil, fmt.Errorf("broadcast: %w", err)
		}
		defer r.in.Close()
		r.track.lossy = s.Broadcast.Lossy()
		r.own = true
	}
	return r.run()
}

type subscriber struct {
	s       *Side
	in      transports.Conn // where publications come from
	own     bool            // it is the transport's own broadcast, so announcements may come more than once
	want    counterMessage
	control []byte
	track   tracker
	latency *oneWay // nil in flood mode
	greeted bool
	marked  uint64 // number of the mark that was answered last,
	startAt int64  // and its start: a mark that comes again has the same
	last    int64  // when the last publication came; not in flood mode
	count   *counters
}

func (r *subscriber) run() (*results.Measurement, error) {
	m := &results.Measurement{}
	r.track.begin(1)
	if r.latency != nil {
		r.latency.begin(0, 1)
	}
	r.count = newCounters()
	measuring := false
	for {
		msg, err := r.in.Recv()
		if err != nil {
			return nil, fmt.Errorf("receive publication %d: %w", r.track.next, err)
		}
		switch kindOf(msg) {
		case kindData:
			if err := r.publication(msg, measuring); err != nil {
				return nil, err
			}
		case kindHello:
			if !r.own || r.greeted {
				continue
			}
			r.greeted = true
			if err := r.answer(kindHello, 0, 0); err != nil {
				return nil, err
			}
		case kindMark:
			seq := seqOf(msg)
			if seq == r.marked && stampOf(msg) == r.startAt {
				continue
			}
			if err := r.mark(seq, stampOf(msg)); err != nil {
				return nil, err
			}
			measuring = true
		case kindFinish:
			seq := seqOf(msg)
			if err := r.track.end(seq + 1); err != nil {
				return nil, err
			}
			r.count.end(m, results.Subscriber)
			r.track.fill(m)
			if r.own {
				m.Facts = r.in.Facts()
			}
			if r.latency != nil {
				r.latency.fill(m)
				m.WindowNs = max(r.last-r.startAt, 0)
			}
			return m, r.answer(kindFinish, seq, 0)
		default:
			return nil, envelopeError(msg, r.track.next, kindData)
		}
	}
}

// mark begins the window: seq is the number of the last publication before it, start when it begins.
func (r *subscriber) mark(seq uint64, start int64) error {
	r.track.begin(seq + 1)
	if r.latency != nil {
		r.latency.begin(start, seq+1)
	}
	runtime.GC() // before the window, not in it
	r.count.begin()
	r.marked, r.startAt = seq, start
	return r.answer(kindMark, seq, timeNamespace())
}

// publication checks, counts and records one message.
func (r *subscriber) publication(msg []byte, measuring bool) error {
	var now int64
	if r.latency != nil {
		now = measure.Now()
	}
	seq, sent, err := r.want.checkData(msg)
	if err != nil {
		return err
	}
	if err := r.track.see(seq); err != nil {
		return err
	}
	if measuring && r.latency != nil {
		if err := r.latency.record(seq, sent, now); err != nil {
			return err
		}
		r.last = now
	}
	if r.s.Params.Mode == modePull {
		return r.answer(kindNext, seq, 0)
	}
	return nil
}

func (r *subscriber) answer(k kind, seq uint64, stamp int64) error {
	putEnvelope(r.control, seq, stamp, k)
	if err := r.s.conn().Send(r.control); err != nil {
		return fmt.Errorf("answer the publisher: %w", err)
	}
	return nil
}
