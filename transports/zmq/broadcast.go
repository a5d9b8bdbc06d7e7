package zmq

import (
	"bytes"
	"fmt"
	"strconv"

	zmq4 "github.com/go-zeromq/zmq4"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock"
)

// The high-water mark of a PUB socket of zmq4 v0.17.0 is one queue for all subscribers, in messages. Without one, which
// is the library's default, a publisher that is faster than its slowest subscriber fills the memory. So it is what
// libzmq has by default, less for large messages: what is over it is dropped, for all subscribers alike.
const (
	highWater      = 1000
	highWaterBytes = 64 << 20
)

// broadcastQueue is the high-water mark that the options ask for, in messages.
func broadcastQueue(o transports.Options) int {
	return max(o.Depth, min(highWater, highWaterBytes/o.MaxMessage), 1)
}

var _ transports.Broadcaster = (*Transport)(nil)

// Lossy says yes: a PUB socket drops what is over its high-water mark.
func (t *Transport) Lossy() bool { return true }

// ListenBroadcast binds a PUB socket.
func (t *Transport) ListenBroadcast(o transports.Options) (transports.Listener, error) {
	o, err := t.prepared(o)
	if err != nil {
		return nil, err
	}
	p := newPublisher(t, o)
	address, err := p.listen(t.kind, o)
	if err != nil {
		p.Close()
		return nil, p.wrap(err)
	}
	return &mqsock.Broadcast{Name: p.name, Address: address, Publisher: p, Shut: p.link.gate.shut}, nil
}

// DialBroadcast connects a SUB socket, subscribed to everything. The subscription is on its way when it returns.
func (t *Transport) DialBroadcast(endpoint string, o transports.Options) (transports.Conn, error) {
	o, err := t.prepared(o)
	if err != nil {
		return nil, err
	}
	c := &conn{name: t.Info().Name, kind: t.kind, max: o.MaxMessage, closed: make(chan struct{})}
	k := newLink(zmq4.Sub, o, &c.fate)
	c.links, c.in, c.out = []*link{k}, k, k
	if err = k.sock.SetOption(zmq4.OptionSubscribe, ""); err == nil {
		err = c.dial(t.kind, endpoint)
	}
	if err != nil {
		c.Close()
		return nil, c.wrap(err)
	}
	return &subscriber{c}, nil
}

// prepared checks the options and registers the hub.
func (t *Transport) prepared(o transports.Options) (transports.Options, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return o, err
	}
	if err := register(); err != nil {
		return o, fmt.Errorf("%s: %w", t.Info().Name, err)
	}
	return o, nil
}

// subscriber is a SUB socket.
type subscriber struct{ *conn }

// Send refuses.
func (s *subscriber) Send([]byte) error { return s.wrap(mqsock.OneWay(&s.fate)) }

// InFlight is for the other direction.
func (s *subscriber) InFlight(int) int { return 1 }

// Facts name the socket and its queues.
func (s *subscriber) Facts() map[string]string {
	settings := map[string]string{"socket": "SUB", "recv_queue": strconv.Itoa(readQueue)}
	mqsock.Facts(s.in.wire.raw, settings)
	return mqsock.BroadcastFacts(library, settings)
}

// publisher is a PUB socket with all its subscribers.
type publisher struct {
	name string
	max  int // bytes of the largest message
	hwm  int // messages
	link *link
	fate mqsock.Fate
	last *lastPost
}

var _ transports.Conn = (*publisher)(nil)

func newPublisher(t *Transport, o transports.Options) *publisher {
	p := &publisher{name: t.Info().Name, max: o.MaxMessage, hwm: broadcastQueue(o)}
	p.link = newLink(zmq4.Pub, o, &p.fate)
	return p
}

// listen binds and returns the address.
func (p *publisher) listen(kind string, o transports.Options) (address string, err error) {
	if err := p.link.sock.SetOption(zmq4.OptionHWM, p.hwm); err != nil {
		return "", err
	}
	if p.last, err = p.link.enlist(); err != nil { // before any other can subscribe
		return "", err
	}
	return p.link.listen(kind, o)
}

// Send gives the library a copy, since it keeps the slice until its goroutine has written it to every subscriber. It
// never blocks: beyond the high-water mark the library drops the message.
func (p *publisher) Send(msg []byte) error {
	if len(msg) > p.max {
		return p.wrap(transports.ErrTooLarge)
	}
	if err := p.fate.Err(); err != nil {
		return p.wrap(err)
	}
	if err := p.link.sock.SendMulti(zmq4.NewMsg(bytes.Clone(msg))); err != nil {
		return p.wrap(err)
	}
	return nil
}

// Recv refuses.
func (p *publisher) Recv() ([]byte, error) { return nil, p.wrap(mqsock.OneWay(&p.fate)) }

// InFlight is what the queue takes before messages are dropped.
func (p *publisher) InFlight(int) int { return p.hwm }

// Facts name the socket, its queue, and the settings of the first subscriber's connection.
func (p *publisher) Facts() map[string]string {
	settings := p.link.gate.settings()
	settings["socket"] = "PUB"
	settings["hwm"] = strconv.Itoa(p.hwm)
	return mqsock.BroadcastFacts(library, settings)
}

func (p *publisher) wrap(err error) error { return fmt.Errorf("%s: %w", p.name, err) }

// Close waits, not for long, until the library has written what it has queued, and ends the socket.
func (p *publisher) Close() error {
	if !p.fate.Close() {
		return nil
	}
	k := p.link
	if k.gate != nil {
		k.gate.shut()
	}
	if p.last != nil {
		mark := func() { k.sock.SendMulti(zmq4.NewMsg(p.last.topic)) }
		if !mqsock.Drain(mark, p.last.isGone) {
			k.gate.hangup() // a write that is blocked
			mqsock.Drain(mark, p.last.isGone)
		}
	}
	if k.gate != nil {
		k.gate.hangup()
		k.gate.Close()
	}
	k.cancel()
	k.sock.Close()
	return nil
}
