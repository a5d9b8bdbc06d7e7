package nng

import (
	"net"
	"sync"
	"time"

	"go.nanomsg.org/mangos/v3"
)

// gate is the listener that the library gets. It lets one peer in, or many for a broadcast: the socket is closed, and
// unlinked, as soon as the one has completed the handshake, so that none can take its place later.
type gate struct {
	noOptions
	l       net.Listener
	many    bool
	address string
	shake   func(net.Conn) (*pipe, error)
	use     func(*pipe)   // told a peer before the library gets it
	won     chan *pipe    // peers that have completed the handshake
	done    chan struct{} // closed by Close

	mu     sync.Mutex
	taken  bool              // the one has completed the handshake
	given  bool              // and the library has it
	closed bool              // by Close
	guests map[net.Conn]bool // connections that have not completed the handshake
}

var _ mangos.TranListener = (*gate)(nil)

func newGate(l net.Listener, address string, many bool, shake func(net.Conn) (*pipe, error), use func(*pipe)) *gate {
	g := &gate{
		l: l, address: address, many: many, shake: shake, use: use,
		won: make(chan *pipe), done: make(chan struct{}), guests: map[net.Conn]bool{},
	}
	go g.serve()
	return g
}

// serve takes connections until one peer is in or the gate is closed.
func (g *gate) serve() {
	for {
		raw, err := g.l.Accept()
		g.mu.Lock()
		over := g.taken || g.closed
		if err == nil && !over {
			g.guests[raw] = true
		}
		g.mu.Unlock()
		switch {
		case over:
			if err == nil {
				raw.Close()
			}
			return
		case err != nil:
			time.Sleep(time.Millisecond) // out of descriptors, or a client that left at once
		default:
			go g.greet(raw)
		}
	}
}

// greet shakes hands. The first that succeeds is the peer, the others are turned away, unless there may be many.
func (g *gate) greet(raw net.Conn) {
	p, err := g.shake(raw)
	g.mu.Lock()
	delete(g.guests, raw)
	if err != nil || g.taken || g.closed {
		g.mu.Unlock()
		raw.Close()
		return
	}
	if !g.many {
		g.taken = true
		g.l.Close()
		g.turnAway()
	}
	g.mu.Unlock()
	select {
	case g.won <- p:
	case <-g.done:
		p.Close()
	}
}

// turnAway closes the connections that have not completed the handshake. g.mu is held.
func (g *gate) turnAway() {
	for raw := range g.guests {
		raw.Close()
	}
}

// Listen has nothing to do: the socket listens already.
func (g *gate) Listen() error { return nil }

// Accept gives the library a peer. After the last it blocks until Close, since the library asks for more without end.
func (g *gate) Accept() (mangos.TranPipe, error) {
	select {
	case p := <-g.won:
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.closed {
			p.Close()
			return nil, mangos.ErrClosed
		}
		g.given = true
		g.use(p)
		return p, nil
	case <-g.done:
		return nil, mangos.ErrClosed
	}
}

// Close ends Accept and drops all but what the library has.
func (g *gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	close(g.done)
	g.l.Close()
	g.turnAway()
	return nil
}

// hasGiven tells whether the library has got the peer.
func (g *gate) hasGiven() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.given
}

func (g *gate) Address() string { return g.address }
