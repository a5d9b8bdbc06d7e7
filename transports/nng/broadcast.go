package nng

import (
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"go.nanomsg.org/mangos/v3"
	"go.nanomsg.org/mangos/v3/protocol/pub"
	"go.nanomsg.org/mangos/v3/protocol/sub"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock"
)

var _ transports.Broadcaster = (*Transport)(nil)

// Lossy says yes: a PUB socket never blocks. It drops a message for each subscriber whose queue is full, and a SUB socket
// drops the oldest of its own queue to take a new one. The queues are the library's own 128 messages, as in other patterns.
func (t *Transport) Lossy() bool { return true }

// ListenBroadcast binds a PUB socket.
func (t *Transport) ListenBroadcast(o transports.Options) (transports.Listener, error) {
	c, err := t.broadcast(o, mangos.OptionWriteQLen, pub.NewSocket)
	if err != nil {
		return nil, err
	}
	p := &publisher{conn: c, members: map[*pipe]bool{}, flush: mangos.NewMessage(0)}
	c.sock.SetPipeEventHook(p.event)
	if err := p.listen(o); err != nil {
		p.Close()
		return nil, c.wrap(err)
	}
	return &mqsock.Broadcast{Name: c.name, Address: c.gate.address, Publisher: p, Shut: func() { c.gate.Close() }}, nil
}

// DialBroadcast connects a SUB socket, subscribed to everything.
func (t *Transport) DialBroadcast(endpoint string, o transports.Options) (transports.Conn, error) {
	c, err := t.broadcast(o, mangos.OptionReadQLen, sub.NewSocket)
	if err != nil {
		return nil, err
	}
	if err = c.sock.SetOption(mangos.OptionSubscribe, ""); err == nil {
		err = c.dial(endpoint)
	}
	if err != nil {
		c.Close()
		return nil, c.wrap(err)
	}
	return &subscriber{c}, nil
}

// broadcast makes one side, with the length of its queue set, that is not connected yet.
func (t *Transport) broadcast(o transports.Options, queueOption string, make func() (mangos.Socket, error)) (*conn, error) {
	name := t.Info().Name
	o, err := o.Normalized(t.Info())
	if err != nil {
		return nil, err
	}
	if err := t.Probe(); err != nil {
		return nil, err
	}
	sock, err := make()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := sock.SetOption(queueOption, queue(o)); err != nil {
		sock.Close()
		return nil, fmt.Errorf("%s: option %s: %w", name, queueOption, err)
	}
	return newConn(name, t.kind, o, sock), nil
}

// subscriber is a SUB socket.
type subscriber struct{ *conn }

// Send refuses.
func (s *subscriber) Send([]byte) error { return s.wrap(mqsock.OneWay(&s.fate)) }

// InFlight is for the other direction.
func (s *subscriber) InFlight(int) int { return 1 }

// Facts name the socket and its queue.
func (s *subscriber) Facts() map[string]string {
	settings := map[string]string{"socket": s.sock.Info().SelfName, "recv_queue": strconv.Itoa(s.queue)}
	mqsock.Facts(s.pipe.raw, settings)
	return mqsock.BroadcastFacts(library, settings)
}

// publisher is a PUB socket with all its subscribers. Its Send is that of conn: a copy in the library's memory.
type publisher struct {
	*conn
	// flush is sent behind all that is queued when the socket is to close: a pipe that meets it has written what came before,
	// and writes it not.
	flush *mangos.Message

	mu              sync.Mutex
	members         map[*pipe]bool    // that the library has and has not closed
	given, attached int               // pipes that the library has got, and that it has done with getting
	first           map[string]string // settings of the first
}

// listen binds.
func (p *publisher) listen(o transports.Options) error {
	l, address, err := mqsock.Listen(p.kind, o)
	if err != nil {
		return err
	}
	shake := func(raw net.Conn) (*pipe, error) {
		if err := mqsock.SetNagle(raw, p.nagle); err != nil {
			return nil, err
		}
		// The end of one subscriber is not that of the publisher, so each has a fate of its own.
		member, err := greet(raw, p.sock.Info(), p.limit(), &mqsock.Fate{})
		if err == nil {
			member.flush = p.flush
		}
		return member, err
	}
	p.gate = newGate(l, address, true, shake, p.join)
	ep, forget := prepare(p.conn)
	defer forget()
	return p.sock.Listen(ep)
}

// join is told a subscriber before the library gets it.
func (p *publisher) join(member *pipe) {
	member.left = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.members, member)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given++
	p.members[member] = true
	if p.first == nil {
		p.first = map[string]string{}
		mqsock.Facts(member.raw, p.first)
	}
}

// event is called by the library when it has got a pipe.
func (p *publisher) event(e mangos.PipeEvent, _ mangos.Pipe) {
	if e == mangos.PipeEventAttached {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.attached++
	}
}

// Recv refuses.
func (p *publisher) Recv() ([]byte, error) { return nil, p.wrap(mqsock.OneWay(&p.fate)) }

// InFlight is what the queue of a subscriber takes before messages are dropped.
func (p *publisher) InFlight(int) int { return p.queue }

// Facts name the socket, its queue for each subscriber, and the settings of the first subscriber's connection.
func (p *publisher) Facts() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	settings := map[string]string{"socket": p.sock.Info().SelfName, "send_queue": strconv.Itoa(p.queue)}
	for k, v := range p.first {
		settings[k] = v
	}
	return mqsock.BroadcastFacts(library, settings)
}

// Close waits, not for long, until the library has written what it has queued, and ends the socket.
func (p *publisher) Close() error {
	if !p.fate.Close() {
		return nil
	}
	if p.gate != nil {
		p.gate.Close()
	}
	// mangos v3.4.2 locks up if a socket is closed while it gets a pipe.
	for !p.settled() {
		time.Sleep(50 * time.Microsecond)
	}
	mqsock.Drain(func() {
		p.flush.Clone() // so that the library never frees it
		p.sock.SendMsg(p.flush)
	}, p.flushed)
	for _, member := range p.all() {
		member.Close()
	}
	if err := p.sock.Close(); err != nil && err != mangos.ErrClosed {
		return p.wrap(err)
	}
	return nil
}

func (p *publisher) settled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.given == p.attached
}

// all are the subscribers that the library has.
func (p *publisher) all() []*pipe {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*pipe
	for member := range p.members {
		list = append(list, member)
	}
	return list
}

// flushed tells whether every subscriber has been written all that was queued for it.
func (p *publisher) flushed() bool {
	for _, member := range p.all() {
		if !member.flushed.Load() && !member.gone.Load() {
			return false
		}
	}
	return true
}
