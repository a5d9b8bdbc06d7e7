package broker

import (
	"fmt"
	"time"
)

// control does what a connection asks the router for.
func (p *peer) control(event Event, f []byte) error {
	answer := Header{BufType: BufControl, Target: p.cookie, Sequence: SequenceOf(f)}
	switch event {
	case Hello:
		if p.greeted {
			return fmt.Errorf("a second hello: %w", ErrFrame)
		}
		if err := p.r.welcome(Body(f)); err != nil {
			return err
		}
		p.greeted = true
		p.nc.SetReadDeadline(time.Time{})
		answer.Event = Welcome
	case Register:
		name, methods, err := parseRegister(Body(f))
		if err != nil {
			return err
		}
		answer.Event = Registered
		answer.Service, answer.Result = p.r.register(p, name, methods)
	case Find:
		answer.Event = Found
		s, result := p.r.lookup(p, string(Body(f)))
		answer.Result = result
		var methods []byte
		if s != nil {
			answer.Service, answer.Source = s.id, s.owner.cookie
			for _, m := range s.methods {
				methods = le.AppendUint32(methods, m)
			}
		}
		p.deliver(Frame(answer, methods), mayWait)
		return nil
	case Subscribe:
		answer.Event, answer.Service, answer.EventID = Subscribed, ServiceOf(f), EventIDOf(f)
		answer.Result = p.r.subscribe(p, ServiceOf(f), EventIDOf(f))
	case Withdraw:
		answer.Event, answer.Service = Withdrawn, ServiceOf(f)
		answer.Result = p.r.withdraw(p, ServiceOf(f))
	case Ping:
		answer.Event = Pong
	case Pong:
		return nil
	default:
		return fmt.Errorf("event %d, which a connection does not send: %w", event, ErrFrame)
	}
	p.deliver(Frame(answer, nil), mayWait)
	return nil
}

// registerBody is a u16 length, the name, and the methods' numbers, u32 each.
func registerBody(name string, methods []uint32) []byte {
	b := le.AppendUint16(nil, uint16(len(name)))
	b = append(b, name...)
	for _, m := range methods {
		b = le.AppendUint32(b, m)
	}
	return b
}

func parseRegister(b []byte) (name string, methods []uint32, err error) {
	if len(b) < 2 {
		return "", nil, fmt.Errorf("a registration of %d B: %w", len(b), ErrFrame)
	}
	n := int(le.Uint16(b))
	if b = b[2:]; n > len(b) || (len(b)-n)%4 != 0 {
		return "", nil, fmt.Errorf("a registration whose name has %d B of %d B: %w", n, len(b), ErrFrame)
	}
	name = string(b[:n])
	for b = b[n:]; len(b) > 0; b = b[4:] {
		methods = append(methods, le.Uint32(b))
	}
	return name, methods, nil
}
