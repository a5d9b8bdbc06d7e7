package scenarios

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/results/hist"
	"msgbench/transports"
)

// The modes of broadcast: in pull the next publication goes out when every subscriber has asked for it, in rate at its
// intended time, in flood at once. Flood has no latency, which would only measure buffers.
const (
	modePull  = "pull"
	modeRate  = "rate"
	modeFlood = "flood"
)

const maxSubscribers = 64

// Broadcast sends each message to several subscribers. An operation is a publication.
var Broadcast = Scenario{
	Name:    "broadcast",
	Summary: "one publisher, N subscribers, one-way latency; mode pull: the next when all have asked, rate: at a fixed rate, flood: no pacing, no latency",
	Pattern: transports.Stream,
	Payload: true,
	Paced:   true,
	Dims: []Dim{
		{Name: "mode", Default: broadcastMode, Check: checkBroadcastMode},
		{Name: "subscribers", Default: fixedDefault("1"), Check: numberFrom1(maxSubscribers)},
	},
	MaxMessage: func(p Params) int { return envelope + max(p.Payload, maxEndpoint) },
	Roles: func(p Params) []Role {
		return []Role{
			{Name: results.Subscriber, Processes: max(p.Subscribers, 1), Listens: true, Conns: 1, Run: subscribe},
			{Name: results.Publisher, Processes: 1, Run: publish},
		}
	},
	Join: joinSubscribers,
}

// maxEndpoint is the longest endpoint of a transport's own broadcast in bytes.
const maxEndpoint = 512

func broadcastMode(rate int) string {
	if rate > 0 {
		return modeRate
	}
	return modeFlood
}

func checkBroadcastMode(v string, rate int) error {
	switch {
	case v != modePull && v != modeRate && v != modeFlood:
		return fmt.Errorf("%q is none of %s, %s and %s", v, modePull, modeRate, modeFlood)
	case rate > 0 && v != modeRate:
		return fmt.Errorf("%s runs at max only, %s is for a fixed rate", v, modeRate)
	case rate == 0 && v == modeRate:
		return fmt.Errorf("%s needs a fixed rate", modeRate)
	}
	return nil
}

// joinSubscribers adds up what the subscribers received.
func joinSubscribers(p Params, m *results.Measurement, subscribers []*results.Measurement) error {
	lossy := m.Facts["lossy"] == "yes"
	m.Received, m.Lost, m.Duplicated, m.Reordered = 0, 0, 0, 0
	for i, s := range subscribers {
		if got := s.Received + s.Lost; got != m.Ops {
			return fmt.Errorf("%d publications, but subscriber %d accounts for %d", m.Ops, i+1, got)
		}
		if !lossy && s.Lost+s.Duplicated+s.Reordered > 0 {
			return fmt.Errorf("subscriber %d lost %d messages, got %d twice and %d late, on a transport that may not",
				i+1, s.Lost, s.Duplicated, s.Reordered)
		}
		m.Received += s.Received
		m.Lost += s.Lost
		m.Duplicated += s.Duplicated
		m.Reordered += s.Reordered
		m.Receivers = append(m.Receivers, results.Counts{Received: s.Received, Lost: s.Lost, Duplicated: s.Duplicated, Reordered: s.Reordered})
		m.WindowNs = max(m.WindowNs, s.WindowNs)
		for _, h := range []struct{ into, from **hist.Hist }{{&m.Latency, &s.Latency}, {&m.Service, &s.Service}} {
			if *h.into == nil {
				*h.into = *h.from
			} else if *h.from != nil {
				(*h.into).Merge(*h.from)
			}
		}
	}
	m.Sent = m.Ops * int64(len(subscribers))
	m.Messages = m.Received
	m.PayloadBytes = m.Received * int64(p.Payload)
	return nil
}

// markLead is how long before its start the window is announced, so that every subscriber knows when that is. Where the
// answers come too late for that, it is announced again with twice the lead, up to markTries times in all.
const (
	markLead  = 20 * time.Millisecond
	markTries = 6
)

// publisher sends each publication to all subscribers: through the transport's own broadcast, or over their connections
// one after the other.
type publisher struct {
	s       *Side
	own     transports.Conn // of the transport's own broadcast; nil: fan out
	seq     uint64
	message counterMessage
	control []byte
	startAt int64
}

func publish(s *Side) (*results.Measurement, error) {
	if err := oneWayClock(); err != nil {
		return nil, err
	}
	p := &publisher{s: s, message: s.message(), control: make([]byte, envelope)}
	if s.Broadcast != nil {
		l, err := s.Broadcast.ListenBroadcast(s.Options)
		if err != nil {
			return nil, fmt.Errorf("broadcast: %w", err)
		}
		defer l.Close()
		if p.own, err = l.Accept(); err != nil {
			return nil, fmt.Errorf("broadcast: %w", err)
		}
		defer p.own.Close()
		if err := p.hello(l.Endpoint()); err != nil {
			return nil, err
		}
	} else if err := p.hello(""); err != nil {
		return nil, err
	}
	m, err := drive(s, p, p)
	if err != nil {
		return nil, err
	}
	m.Latency, m.Service = nil, nil // the publisher's own calls; subscribers know the latencies
	m.LatencyKind = results.OneWay
	m.RequestBytes = int64(len(p.message))
	m.Facts = map[string]string{"broadcast": "fan-out"}
	if p.own != nil {
		m.Facts = p.own.Facts()
		m.Facts["broadcast"] = "native"
		if s.Broadcast.Lossy() {
			m.Facts["lossy"] = "yes"
		}
	}
	switch s.Params.Mode {
	case modePull:
		m.Loop = results.Closed
	case modeFlood:
		m.Loop, m.LatencyKind = results.Open, ""
	default:
		m.Loop = results.Open
	}
	return m, nil
}

// hello tells every subscriber where the transport's own broadcast is, if there is one.
func (p *publisher) hello(endpoint string) error {
	if len(endpoint) > maxEndpoint {
		return fmt.Errorf("broadcast: the endpoint %q is longer than %d B", endpoint, maxEndpoint)
	}
	msg := append(make([]byte, envelope), endpoint...)
	putEnvelope(msg, 0, 0, kindHello)
	for i, c := range p.s.Conns {
		if err := c.Send(msg); err != nil {
			return fmt.Errorf("subscriber %d: %w", i+1, err)
		}
	}
	if p.own == nil {
		return nil
	}
	// Whoever has the first announcement is connected; before that, a broadcast reaches nobody, and says nothing.
	return p.announce(kindHello, 0, 0)
}

// send sends a message to all subscribers.
func (p *publisher) send(msg []byte) error {
	if p.own != nil {
		return p.own.Send(msg)
	}
	for i, c := range p.s.Conns {
		if err := c.Send(msg); err != nil {
			return fmt.Errorf("subscriber %d: %w", i+1, err)
		}
	}
	return nil
}

// answers receives one message of that kind and number from every subscriber.
func (p *publisher) answers(k kind, seq uint64) error {
	for i, c := range p.s.Conns {
		msg, err := c.Recv()
		if err != nil {
			return fmt.Errorf("subscriber %d: %w", i+1, err)
		}
		if err := checkEnvelope(msg, seq, k); err != nil {
			return fmt.Errorf("subscriber %d: %w", i+1, err)
		}
		if k == kindMark {
			if err := sameTime(timeNamespace(), stampOf(msg)); err != nil {
				return err
			}
		}
	}
	return nil
}

// announceAgain is how often an announcement is repeated on a broadcast that may lose it.
const announceAgain = 5 * time.Millisecond

// announce sends a control message until every subscriber has answered it.
func (p *publisher) announce(k kind, seq uint64, stamp int64) error {
	putEnvelope(p.control, seq, stamp, k)
	if err := p.send(p.control); err != nil {
		return err
	}
	if p.own == nil {
		return p.answers(k, seq)
	}
	answered := make(chan error, 1)
	go func() { answered <- p.answers(k, seq) }()
	for {
		select {
		case err := <-answered:
			return err
		case <-time.After(announceAgain):
			if err := p.send(p.control); err != nil {
				return err
			}
		}
	}
}

func (p *publisher) mark() error {
	lead := markLead
	for range markTries {
		p.startAt = measure.Now() + int64(lead)
		if err := p.announce(kindMark, p.seq, p.startAt); err != nil {
			return err
		}
		// Shortly before, so that reading the CPU clocks does not make the first publication late.
		if left := time.Duration(p.startAt-measure.Now()) - time.Millisecond; left > 0 {
			time.Sleep(left)
			return nil
		}
		lead *= 2
	}
	return fmt.Errorf("the subscribers take more than %s to answer that the window begins", lead/2)
}

func (p *publisher) start() int64 { return p.startAt }

// finish is called after the window; where settle belongs to it, that has done it already.
func (p *publisher) finish() error {
	if p.s.Params.Mode != modePull {
		return nil
	}
	return p.announce(kindFinish, p.seq, 0)
}

// settle ends a window, which lasts until the last message has arrived: what is in buffers is not delivered. In pull mode
// everyone has asked for the next one already.
func (p *publisher) settle() error {
	if p.s.Params.Mode == modePull {
		return nil
	}
	return p.announce(kindFinish, p.seq, 0)
}

// do is one publication, and in pull mode the wait for everyone to ask for the next.
func (p *publisher) do(now int64) (int64, int64, error) {
	p.seq++
	p.message.put(p.seq)
	putEnvelope(p.message, p.seq, now, kindData)
	if err := p.send(p.message); err != nil {
		return 0, 0, fmt.Errorf("publication %d: %w", p.seq, err)
	}
	if p.s.Params.Mode == modePull {
		return 1, now, p.answers(kindNext, p.seq)
	}
	return 1, now, nil
}

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
