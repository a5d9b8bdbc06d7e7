package nng

import (
	"net"
	"sync"
	"time"

	"go.nanomsg.org/mangos/v3"
)

// gate is the listener that the library gets. It lets one peer in: the socket is closed, and unlinked, as soon as one
// has completed the handshake, so that none can take its place later.
type gate struct {
	noOptions
	l       net.Listener
	address string
	shake   func(net.Conn) (*pipe, error)
	use     func(*pipe)   // told the peer before the library gets it
	won     chan *pipe    // the one peer
	done    chan struct{} // closed by Close

	mu     sync.Mutex
	taken  bool              // one has completed the handshake
	given  bool              // and the library has it
	closed bool              // by Close
	guests map[net.Conn]bool // connections that have not completed the handshake
}

var _ mangos.TranListener = (*gate)(nil)

func newGate(l net.Listener, address string, shake func(net.Conn) (*pipe, error), use func(*pipe)) *gate {
	g := &gate{
		l: l, address: address, shake: shake, use: use,
		won: make(chan *pipe, 1), done: make(chan struct{}), guests: map[net.Conn]bool{},
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

// greet shakes hands. The first that succeeds is the peer, the others are turned away.
func (g *gate) greet(raw net.Conn) {
	p, err := g.shake(raw)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.guests, raw)
	if err != nil || g.taken || g.closed {
		raw.Close()
		return
	}
	g.taken = true
	g.l.Close()
	g.turnAway()
	g.won <- p
}

// turnAway closes the connections that have not completed the handshake. g.mu is held.
func (g *gate) turnAway() {
	for raw := range g.guests {
		raw.Close()
	}
}

// Listen has nothing to do: the socket listens already.
func (g *gate) Listen() error { return nil }

// Accept gives the library the peer, and then blocks until Close, since the library asks for more without end.
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

// Close ends Accept and drops all but a peer that the library has.
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
	select {
	case p := <-g.won:
		p.Close()
	default:
	}
	return nil
}

// hasGiven tells whether the library has got the peer.
func (g *gate) hasGiven() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.given
}

func (g *gate) Address() string { return g.address }
