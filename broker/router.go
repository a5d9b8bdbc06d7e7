package broker

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"slices"
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
	o Options
	l net.Listener
	n counters

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

// service is one provider's, and who is interested.
type service struct {
	id        uint32
	name      string
	owner     *peer
	methods   []uint32
	consumers []*peer // each once
	// subscribers by event ID. A list is never changed but replaced, so that it can be walked without the lock.
	subscribers map[uint32][]*peer
}

// New returns a router of what l accepts, which it owns. Serve runs it.
func New(l net.Listener, o Options) *Router {
	return &Router{o: o.normalized(), l: l, peers: map[uint32]*peer{}, services: map[string]*service{},
		byID: map[uint32]*service{}, stop: make(chan struct{})}
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
	r.wg.Go(r.beat)
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
		p, err := r.admit(c)
		if err != nil {
			r.n.refused.Add(1)
			r.o.Log(err.Error())
			c.Close()
			continue
		}
		r.wg.Go(p.run)
	}
}

// admit gives a connection its cookie.
func (r *Router) admit(c net.Conn) (*peer, error) {
	p, err := newPeer(r, c)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, errors.New("a connection to a router that is closing")
	case len(r.peers) >= r.o.MaxConns:
		return nil, fmt.Errorf("more than %d connections", r.o.MaxConns)
	case r.cookie == 1<<32-1:
		return nil, errors.New("all cookies have been given away")
	}
	r.cookie++
	p.cookie = r.cookie
	r.peers[p.cookie] = p
	return p, nil
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

// register adds a service of p.
func (r *Router) register(p *peer, name string, methods []uint32) (id, result uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case name == "" || len(name) > maxName || len(methods) > maxMethods:
		return 0, ResultMalformed
	case r.services[name] != nil:
		return 0, ResultTaken
	case len(p.services) >= maxServices || r.serviceN == 1<<32-1:
		return 0, ResultTooMany
	}
	r.serviceN++
	s := &service{id: r.serviceN, name: name, owner: p, methods: methods, subscribers: map[uint32][]*peer{}}
	r.services[name], r.byID[s.id] = s, s
	p.services = append(p.services, s)
	return s.id, ResultOK
}

// withdraw takes a service of p's own from those that can be found. Who has found it keeps it.
func (r *Router) withdraw(p *peer, id uint32) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byID[id]
	if s == nil || s.owner != p {
		return ResultNotFound
	}
	r.hide(s)
	return ResultOK
}

// hide frees the name of a service, unless another has it by now. The lock is held.
func (r *Router) hide(s *service) {
	if r.services[s.name] == s {
		delete(r.services, s.name)
	}
}

// lookup finds a service for a consumer, who is told to its provider, and of whose end the provider will hear.
func (r *Router) lookup(p *peer, name string) (s *service, result uint32) {
	r.mu.Lock()
	s = r.services[name]
	if s == nil {
		r.mu.Unlock()
		return nil, ResultNotFound
	}
	if result := r.interest(p, s); result != ResultOK {
		r.mu.Unlock()
		return nil, result
	}
	r.mu.Unlock()
	s.owner.deliver(Frame(Header{BufType: BufControl, Event: Attached, Source: p.cookie, Target: s.owner.cookie, Service: s.id}, nil), mayWait)
	return s, ResultOK
}

// interest notes that p is to hear of the end of s, and the other way round. The lock is held.
func (r *Router) interest(p *peer, s *service) uint32 {
	if slices.Contains(p.interests, s) {
		return ResultOK
	}
	if len(p.interests) >= maxInterests {
		return ResultTooMany
	}
	p.interests = append(p.interests, s)
	s.consumers = append(s.consumers, p)
	return ResultOK
}

// subscribe adds p to the list of a broadcast.
func (r *Router) subscribe(p *peer, id, event uint32) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byID[id]
	if s == nil {
		return ResultNotFound
	}
	old := s.subscribers[event]
	if slices.Contains(old, p) {
		return ResultOK
	}
	if old == nil && len(s.subscribers) >= maxMethods {
		return ResultTooMany
	}
	if result := r.interest(p, s); result != ResultOK {
		return result
	}
	s.subscribers[event] = append(slices.Clip(old), p)
	return ResultOK
}

// subscribers are those of a broadcast of p's own service, and whether that is one.
func (r *Router) subscribersOf(p *peer, id, event uint32) ([]*peer, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := r.byID[id]
	if s == nil || s.owner != p {
		return nil, false
	}
	return s.subscribers[event], true
}

// remove forgets a connection and tells those who had to do with it.
func (r *Router) remove(p *peer) {
	r.mu.Lock()
	delete(r.peers, p.cookie)
	var tell []*peer
	add := func(q *peer) {
		if q != p && !slices.Contains(tell, q) {
			tell = append(tell, q)
		}
	}
	for _, s := range p.services {
		r.hide(s)
		delete(r.byID, s.id)
		for _, c := range s.consumers {
			add(c)
			c.interests = slices.DeleteFunc(c.interests, func(x *service) bool { return x == s })
		}
	}
	for _, s := range p.interests {
		add(s.owner)
		s.consumers = slices.DeleteFunc(s.consumers, func(x *peer) bool { return x == p })
		for event, list := range s.subscribers {
			if slices.Contains(list, p) {
				s.subscribers[event] = slices.DeleteFunc(slices.Clone(list), func(x *peer) bool { return x == p })
			}
		}
	}
	p.services, p.interests = nil, nil
	r.mu.Unlock()
	for _, q := range tell {
		// In its queue like any message: what was sent before the end comes before this.
		q.deliver(Frame(Header{BufType: BufControl, Event: Gone, Source: p.cookie, Target: q.cookie}, nil), overflow)
	}
}

// welcome checks the token of a connection.
func (r *Router) welcome(token []byte) error {
	if len(r.o.Token) > 0 && subtle.ConstantTimeCompare(token, r.o.Token) != 1 {
		return errors.New("it does not know the token")
	}
	return nil
}
