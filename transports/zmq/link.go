package zmq

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"sync"
	"sync/atomic"
	"time"

	zmq4 "github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock"
)

// link is one socket of the library with the one connection it is allowed, or, for PUB, with those of its subscribers.
type link struct {
	sock    zmq4.Socket
	typ     zmq4.SocketType
	max     int  // bytes of the largest message
	nagle   bool // leave TCP_NODELAY off
	fate    *mqsock.Fate
	ctx     context.Context    // the socket's
	cancel  context.CancelFunc // ends what the socket does
	gate    *gate              // on the listening side
	wire    *tap               // the connection, of PUB that of its last post; set before up is closed
	up      chan struct{}      // closed when the handshake is over
	upOnce  sync.Once
	replies atomic.Int64  // bodies that a REP socket has written
	written chan struct{} // told when a REP socket has written a large one
}

// quiet is for the library's log: it would write to standard error when a stray client fails its handshake.
var quiet = log.New(io.Discard, "", 0)

// forever is the send timeout. The library's default of 5 minutes would end a blocked Send in the middle of a message.
const forever = 1000 * time.Hour

func newLink(typ zmq4.SocketType, o transports.Options, fate *mqsock.Fate) *link {
	ctx, cancel := context.WithCancel(context.Background())
	k := &link{typ: typ, max: o.MaxMessage, nagle: o.Nagle, fate: fate, ctx: ctx, cancel: cancel,
		up: make(chan struct{}), written: make(chan struct{}, 1)}
	options := []zmq4.Option{
		zmq4.WithSecurity(&handshake{null.Security(), k}),
		zmq4.WithLogger(quiet),
		zmq4.WithTimeout(forever),
		zmq4.WithDialerMaxRetries(0),
	}
	k.sock = map[zmq4.SocketType]func(context.Context, ...zmq4.Option) zmq4.Socket{
		zmq4.Req: zmq4.NewReq, zmq4.Rep: zmq4.NewRep, zmq4.Dealer: zmq4.NewDealer, zmq4.Push: zmq4.NewPush, zmq4.Pull: zmq4.NewPull,
		zmq4.Pub: zmq4.NewPub, zmq4.Sub: zmq4.NewSub,
	}[typ](ctx, options...)
	return k
}

// handshake is the NULL mechanism of ZMTP with eyes: it is where the adapter learns that a peer is there, of which kind,
// and, since REP sends each frame through Encrypt, that a reply has been written.
type handshake struct {
	zmq4.Security
	k *link
}

func (h *handshake) Handshake(c *zmq4.Conn, server bool) error {
	if err := h.Security.Handshake(c, server); err != nil {
		return err
	}
	// The library checks this too, but only after the peer has counted as connected.
	if peer := c.Peer.Meta["Socket-Type"]; !compatible(h.k.typ, peer) {
		return fmt.Errorf("a %s socket can't talk to a peer of type %q: %w", h.k.typ, peer, errPattern)
	}
	return h.k.established()
}

func (h *handshake) Encrypt(w io.Writer, frame []byte) (int, error) {
	n, err := h.Security.Encrypt(w, frame)
	if cap(frame) > 0 { // not one of the empty frames before the body
		h.k.replies.Add(1)
	}
	if len(frame) >= copyBelow {
		select {
		case h.k.written <- struct{}{}:
		default:
		}
	}
	return n, err
}

// compatible tells whether two kinds of socket may talk. SocketType.IsCompatible of zmq4 v0.17.0 panics on a name it
// doesn't know, so the peer's name is only ever an argument.
func compatible(own zmq4.SocketType, peer string) bool {
	return own.IsCompatible(zmq4.SocketType(peer))
}

// tapped returns a tap of this link. In a REP socket the library's reader closes it when it ends, after all that was read
// has been queued, and tells nobody: then Recv is woken by ending the socket's context. The end of one subscriber is not
// that of a PUB socket.
func (k *link) tapped(raw net.Conn) (*tap, error) {
	fail, closed := k.fate.Fail, func() {}
	switch k.typ {
	case zmq4.Rep:
		closed = k.cancel
	case zmq4.Pub:
		fail, closed = func(error) {}, func() { k.gate.leave(raw) }
	}
	t, err := newTap(raw, k.max, fail, closed)
	if err == nil {
		t.topics = k.typ == zmq4.Pub
	}
	return t, err
}

// listen binds and returns the address.
func (k *link) listen(kind string, o transports.Options) (string, error) {
	l, address, err := mqsock.Listen(kind, o)
	if err != nil {
		return "", err
	}
	k.gate = newGate(l, k.typ == zmq4.Pub, func(c net.Conn, ahead []byte) (*tap, error) {
		if err := mqsock.SetNagle(c, k.nagle); err != nil {
			return nil, err
		}
		t, err := k.tapped(c)
		if err == nil {
			t.ahead = ahead
		}
		return t, err
	})
	ep, forget := prepare(k)
	defer forget()
	return address, k.sock.Listen(ep)
}

// dial connects and returns once the handshake is over.
func (k *link) dial(kind, address string) error {
	c, err := mqsock.Dial(context.Background(), kind, address, k.nagle)
	if err != nil {
		return err
	}
	if k.wire, err = k.tapped(c); err != nil {
		c.Close()
		return err
	}
	c.SetDeadline(time.Now().Add(mqsock.HandshakeTime))
	ep, forget := prepare(k)
	defer forget()
	if err := k.sock.Dial(ep); err != nil {
		c.Close() // zmq4 v0.17.0 leaves a connection open whose handshake fails
		return err
	}
	return nil
}

// established is called by the library's goroutine when the handshake is over, with all bytes of it read.
func (k *link) established() error {
	t := k.wire
	if k.gate != nil {
		var err error
		if t, err = k.gate.take(); err != nil {
			return err
		}
		if !k.gate.many {
			k.wire = t
		}
	}
	if err := t.raw.SetDeadline(time.Time{}); err != nil {
		return err
	}
	k.replies.Store(0)
	t.live = true
	k.upOnce.Do(func() { close(k.up) })
	return nil
}

// isUp tells whether the handshake is over.
func (k *link) isUp() bool {
	select {
	case <-k.up:
		return true
	default:
		return false
	}
}

// close ends the connection and all goroutines of the socket. The library's readers hand over through a queue of 10
// messages and would hang on it for good if nobody took what they have read (zmq4 v0.17.0), so it is emptied first:
// closing the connection ends the reader, whose last message is the error.
func (k *link) close() {
	if k.gate != nil {
		k.gate.Close()
	}
	if k.isUp() {
		mqsock.Hangup(k.wire.raw)
		switch k.typ {
		case zmq4.Rep, zmq4.Dealer, zmq4.Pull, zmq4.Sub:
			for {
				if _, err := k.sock.Recv(); err != nil {
					break
				}
			}
		}
	}
	k.cancel()
	k.sock.Close()
}
