package broker

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Policy says what becomes of a message whose target's queue is full.
type Policy string

// The policies. Block lets the sender wait, and through the sockets' buffers its process; Drop loses the message and counts it.
const (
	Block Policy = "block"
	Drop  Policy = "drop"
)

// Options are the settings of a router; zero values stand for the defaults.
type Options struct {
	MaxFrame  int           // bytes of the largest frame, header included; 64 MiB and a header
	Queue     int           // bytes that wait for one connection, at most one frame more; 1 MiB
	Slow      Policy        // Block
	Heartbeat time.Duration // a connection that said nothing for so long is asked, one that said nothing for six times as long is closed; 10 s
	MaxConns  int           // connections at once; 4096
	Meter     bool          // count messages by time, for Series
	Token     []byte        // what a connection has to show; empty: nothing
	Log       func(string)  // called with one line for each connection that is refused or ends badly; may be nil
}

// The limits of what one connection may make the router remember.
const (
	maxServices  = 64   // of one provider
	maxMethods   = 1024 // of one service
	maxName      = 255  // bytes
	maxInterests = 256  // services found or subscribed to by one consumer
	maxStrays    = 64   // messages in a row to targets that do not exist, if they go on for strayTime
	strayTime    = 300 * time.Millisecond
	helloTime    = 5 * time.Second
	missedBeats  = 6
)

// DefaultMaxFrame is the size of the largest frame, in bytes.
const DefaultMaxFrame = 64<<20 + HeaderSize

func (o Options) normalized() Options {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&o.MaxFrame, DefaultMaxFrame)
	set(&o.Queue, 1<<20)
	set(&o.MaxConns, 4096)
	if o.Slow == "" {
		o.Slow = Block
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o
}

// Counts are what a router has done since it began.
type Counts struct {
	Conns         int64 // open now
	Accepted      int64
	Refused       int64 // closed for what they sent
	Messages      int64 // forwarded: a broadcast counts once for each subscriber
	Bytes         int64 // of them, headers included
	Dropped       int64 // by policy Drop
	Undeliverable int64 // to a target that does not exist, or not any more
	Waits         int64 // times a sender had to wait for room
}

// counters are the Counts as they grow.
type counters struct{ accepted, refused, messages, bytes, dropped, undeliverable, waits atomic.Int64 }

// Router forwards messages between the connections of one listener.
type Router struct {
	o     Options
	l     net.Listener
	n     counters
	meter *meter // nil without Options.Meter

	mu       sync.RWMutex
	peers    map[uint32]*peer // by cookie
	services map[string]*service
	byID     map[uint32]*service
	cookie   uint32 // the last one given: cookies are never used again
	serviceN uint32
	closed   bool
	stop     chan struct{}
	wg       sync.WaitGroup
}

// New returns a router of what l accepts, which it owns. Serve runs it.
func New(l net.Listener, o Options) *Router {
	r := &Router{o: o.normalized(), l: l, peers: map[uint32]*peer{}, services: map[string]*service{},
		byID: map[uint32]*service{}, stop: make(chan struct{})}
	if o.Meter {
		r.meter = newMeter()
	}
	return r
}

// Addr is where the router listens.
func (r *Router) Addr() net.Addr { return r.l.Addr() }

// Counts are what it has done so far.
func (r *Router) Counts() Counts {
	r.mu.RLock()
	conns := len(r.peers)
	r.mu.RUnlock()
	return Counts{int64(conns), r.n.accepted.Load(), r.n.refused.Load(), r.n.messages.Load(), r.n.bytes.Load(),
		r.n.dropped.Load(), r.n.undeliverable.Load(), r.n.waits.Load()}
}

// acceptPause is how long a failed accept, say for lack of descriptors, keeps the router from the next one.
const acceptPause = 50 * time.Millisecond

// Serve accepts connections until Close, and returns nil then.
func (r *Router) Serve() error {
	r.mu.Lock()
	if !r.closed { // else Close may be waiting already, and nothing may be added
		r.wg.Go(r.beat)
	}
	r.mu.Unlock()
	for {
		c, err := r.l.Accept()
		if err != nil {
			select {
			case <-r.stop:
				r.wg.Wait()
				return nil
			case <-time.After(acceptPause):
			}
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("broker: accept: %w", err)
			}
			r.o.Log("accept: " + err.Error())
			continue
		}
		r.n.accepted.Add(1)
		if err := r.admit(c); err != nil {
			r.n.refused.Add(1)
			r.o.Log(err.Error())
			c.Close()
		}
	}
}

// admit gives a connection its cookie, and serves it.
func (r *Router) admit(c net.Conn) error {
	p, err := newPeer(r, c)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return errors.New("a connection to a router that is closing")
	case len(r.peers) >= r.o.MaxConns:
		return fmt.Errorf("more than %d connections", r.o.MaxConns)
	case r.cookie == 1<<32-1:
		return errors.New("all cookies have been given away")
	}
	r.cookie++
	p.cookie = r.cookie
	r.peers[p.cookie] = p
	r.wg.Go(p.run)
	return nil
}

// Close ends the router and all its connections, and waits for them if Serve runs.
func (r *Router) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.stop)
	var open []*peer
	for _, p := range r.peers {
		open = append(open, p)
	}
	r.mu.Unlock()
	err := r.l.Close()
	for _, p := range open {
		p.close()
	}
	r.wg.Wait()
	return err
}

// beat asks connections that are silent whether they live, and closes those that do not answer.
func (r *Router) beat() {
	tick := time.NewTicker(r.o.Heartbeat)
	defer tick.Stop()
	ping := Frame(Header{BufType: BufControl, Event: Ping}, nil)
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
		}
		r.mu.RLock()
		var all []*peer
		for _, p := range r.peers {
			all = append(all, p)
		}
		r.mu.RUnlock()
		for _, p := range all {
			silent := p.silent.Add(1)
			switch {
			case silent > missedBeats:
				p.refuse(fmt.Sprintf("silent for %s", time.Duration(silent)*r.o.Heartbeat))
				p.close()
			case silent > 1:
				p.deliver(ping, neverWait) // one that does not even read is found by its silence
			}
		}
	}
}

// find returns the connection of that cookie; nil where there is none.
func (r *Router) find(cookie uint32) *peer {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.peers[cookie]
}

// welcome checks the token of a connection.
func (r *Router) welcome(token []byte) error {
	if len(r.o.Token) > 0 && subtle.ConstantTimeCompare(token, r.o.Token) != 1 {
		return errors.New("it does not know the token")
	}
	return nil
}
