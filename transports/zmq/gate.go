package zmq

import (
	"fmt"
	"io"
	"maps"
	"net"
	"sync"
	"time"

	"msgbench/transports/internal/mqsock"
)

// gate is the listener that the library gets. It lets one peer in, or many for a broadcast: connections reach the library
// only once they have greeted as ZMTP peers do, because zmq4 v0.17.0 handles one handshake after the other without a
// deadline, and the socket is closed, and unlinked, as soon as the one peer has completed the handshake.
type gate struct {
	l      net.Listener
	many   bool
	admit  func(net.Conn, []byte) (*tap, error) // wraps a connection and what was read from it
	greets chan net.Conn                        // wrapped connections that have greeted
	done   chan struct{}                        // closed by Close

	mu     sync.Mutex
	taken  bool              // one has completed the handshake
	closed bool              // by shut
	ended  bool              // by Close
	guests map[net.Conn]bool // raw connections that have not completed the handshake
	last   *tap              // the one in the library's hands
	taps   map[net.Conn]*tap // by wrapped connection

	// Of many only.
	members map[net.Conn]bool // raw connections that have completed the handshake
	first   map[string]string // settings of the first
}

func newGate(l net.Listener, many bool, admit func(net.Conn, []byte) (*tap, error)) *gate {
	g := &gate{
		l: l, many: many, admit: admit,
		greets: make(chan net.Conn), done: make(chan struct{}),
		guests: map[net.Conn]bool{}, taps: map[net.Conn]*tap{}, members: map[net.Conn]bool{},
	}
	go g.serve()
	return g
}

// serve takes connections until one peer is in or the gate is closed.
func (g *gate) serve() {
	for {
		raw, err := g.l.Accept()
		if err != nil {
			if g.over() {
				return
			}
			time.Sleep(time.Millisecond) // out of descriptors, or a client that left at once
			continue
		}
		g.mu.Lock()
		if g.taken || g.closed {
			g.mu.Unlock()
			raw.Close()
			return
		}
		g.guests[raw] = true
		g.mu.Unlock()
		go g.greet(raw)
	}
}

// greet waits for the ten bytes that each version of ZMTP begins with.
func (g *gate) greet(raw net.Conn) {
	var signature [10]byte
	raw.SetDeadline(time.Now().Add(mqsock.HandshakeTime))
	_, err := io.ReadFull(raw, signature[:])
	if err == nil && (signature[0] != 0xff || signature[9] != 0x7f) {
		err = fmt.Errorf("not a ZMTP signature: % x", signature)
	}
	var t *tap
	if err == nil {
		t, err = g.admit(raw, signature[:])
	}
	if err == nil {
		g.mu.Lock()
		g.taps[t.conn] = t
		g.mu.Unlock()
		select {
		case g.greets <- t.conn:
			return
		case <-g.done:
		}
	}
	g.drop(raw)
}

func (g *gate) drop(raw net.Conn) {
	g.mu.Lock()
	delete(g.guests, raw)
	g.mu.Unlock()
	raw.Close()
}

// Accept hands the library the next peer to shake hands with. Once one is in it blocks until Close, since the library
// asks for more without end.
func (g *gate) Accept() (net.Conn, error) {
	g.mu.Lock()
	failed := g.last
	g.last = nil
	g.mu.Unlock()
	if failed != nil {
		g.drop(failed.raw) // zmq4 v0.17.0 leaves a connection open whose handshake fails
	}
	select {
	case c := <-g.greets:
		g.mu.Lock()
		defer g.mu.Unlock()
		g.last = g.taps[c]
		delete(g.taps, c)
		return c, nil
	case <-g.done:
		return nil, net.ErrClosed
	}
}

// take ends the handshake of the peer in the library's hands: it is in, and, unless there may be many, no other gets in.
func (g *gate) take() (*tap, error) {
	g.mu.Lock()
	if g.closed || g.last == nil {
		g.mu.Unlock()
		return nil, net.ErrClosed
	}
	t := g.last
	g.last = nil
	delete(g.guests, t.raw)
	if g.many {
		g.members[t.raw] = true
		if g.first == nil {
			g.first = map[string]string{}
			mqsock.Facts(t.raw, g.first)
		}
		g.mu.Unlock()
		return t, nil
	}
	g.taken = true
	g.mu.Unlock()
	g.l.Close()
	g.turnAway()
	return t, nil
}

// turnAway closes the connections that have not completed the handshake.
func (g *gate) turnAway() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for raw := range g.guests {
		raw.Close()
	}
}

func (g *gate) over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.taken || g.closed
}

// shut lets nobody in any more and drops all but those who are. Accept goes on blocking, since the library would ask
// again at once.
func (g *gate) shut() {
	g.mu.Lock()
	was := g.closed
	g.closed = true
	g.mu.Unlock()
	if !was {
		g.l.Close()
		g.turnAway()
	}
}

// leave is called when the library has closed the connection of one of many.
func (g *gate) leave(raw net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.members, raw)
}

// hangup ends the connections of the many.
func (g *gate) hangup() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for raw := range g.members {
		mqsock.Hangup(raw)
	}
}

// settings are those of the first of the many.
func (g *gate) settings() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.first == nil {
		return map[string]string{}
	}
	return maps.Clone(g.first)
}

// Close shuts the gate and ends Accept. Closing twice is no error.
func (g *gate) Close() error {
	g.shut()
	g.mu.Lock()
	was := g.ended
	g.ended = true
	g.mu.Unlock()
	if !was {
		close(g.done)
	}
	return nil
}

func (g *gate) Addr() net.Addr { return g.l.Addr() }
