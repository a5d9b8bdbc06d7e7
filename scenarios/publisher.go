package scenarios

import (
	"fmt"
	"time"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/transports"
)

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
