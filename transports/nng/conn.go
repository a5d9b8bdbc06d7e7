package nng

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.nanomsg.org/mangos/v3"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock"
)

const (
	// lingerTime bounds how long Close waits for the library to write what it has queued, and stallTime how long it
	// waits while the peer takes nothing.
	lingerTime = 5 * time.Second
	stallTime  = 500 * time.Millisecond
	// noRetry keeps a REQ socket from sending a request again.
	noRetry = time.Duration(0)
)

// conn is one side of a connection: a socket of the library with the one pipe it is allowed.
type conn struct {
	name, kind string
	max        int // bytes of the largest message
	queue      int // messages, of a PAIR, PUB or SUB socket
	nagle      bool
	self       uint16 // the protocol of this side
	sock       mangos.Socket
	gate       *gate // on the listening side
	pipe       *pipe // set before up is closed
	fate       mqsock.Fate
	up         chan struct{} // closed when the socket has the pipe
	closed     chan struct{} // closed by Close
	upOnce     sync.Once

	last    *mangos.Message // what Recv returned: the library's again at the next Recv
	over    atomic.Bool     // Recv has got the last of all
	sent    atomic.Int64    // messages given to the library
	sending atomic.Bool     // a REQ socket's Send is under way
}

var _ transports.Conn = (*conn)(nil)

func newConn(name, kind string, o transports.Options, sock mangos.Socket) *conn {
	c := &conn{
		name: name, kind: kind, max: o.MaxMessage, queue: queue(o), nagle: o.Nagle, self: sock.Info().Self, sock: sock,
		up: make(chan struct{}), closed: make(chan struct{}),
	}
	sock.SetPipeEventHook(c.event)
	return c
}

// event is called by the library when the socket has got the pipe and when it has lost it.
func (c *conn) event(e mangos.PipeEvent, p mangos.Pipe) {
	switch e {
	case mangos.PipeEventAttached:
		c.upOnce.Do(func() { close(c.up) })
	case mangos.PipeEventDetached:
		// A Send of a REQ socket without a pipe would wait for another one. The fate is known before this comes, so
		// either Send has seen it or this sees Send; with one under way, there is no reply that closing could lose.
		if c.self == mangos.ProtoReq && c.sending.Load() {
			c.sock.Close()
		}
	}
}

// limit is the largest body on the wire in bytes: a message, and the number of the request before it.
func (c *conn) limit() int {
	if c.self == mangos.ProtoReq || c.self == mangos.ProtoRep {
		return c.max + 4
	}
	return c.max
}

// dial connects and returns once the socket has the pipe.
func (c *conn) dial(endpoint string) error {
	raw, err := mqsock.Dial(context.Background(), c.kind, endpoint, c.nagle)
	if err != nil {
		return err
	}
	if c.pipe, err = greet(raw, c.sock.Info(), c.limit(), &c.fate); err != nil {
		raw.Close()
		return err
	}
	ep, forget := prepare(c)
	defer forget()
	return c.sock.Dial(ep)
}

// Send returns when the library has the message: a queue of its own and one of its goroutines lie between.
func (c *conn) Send(msg []byte) error {
	if len(msg) > c.max {
		return c.wrap(transports.ErrTooLarge)
	}
	if c.self == mangos.ProtoReq {
		c.sending.Store(true)
		defer c.sending.Store(false)
	}
	if err := c.fate.Err(); err != nil {
		return c.wrap(err)
	}
	m := mangos.NewMessage(len(msg))
	m.Body = append(m.Body, msg...)
	if err := c.sock.SendMsg(m); err != nil {
		m.Free()
		return c.failed(err)
	}
	c.sent.Add(1)
	return nil
}

// Recv returns the library's own memory, which goes back to it at the next Recv.
func (c *conn) Recv() ([]byte, error) {
	if c.last != nil {
		c.last.Free()
		c.last = nil
	}
	if c.over.Load() {
		return nil, c.wrap(c.fate.Err())
	}
	m, err := c.sock.RecvMsg()
	if err != nil {
		return nil, c.failed(err)
	}
	if c.pipe.isLast(m) {
		c.over.Store(true)
		return nil, c.wrap(c.fate.Err())
	}
	if len(m.Body) > c.max {
		m.Free()
		return nil, c.wrap(transports.ErrTooLarge)
	}
	c.last = m
	return m.Body, nil
}

// failed gives the reason for an error of the library.
func (c *conn) failed(err error) error {
	if why := c.fate.Err(); why != nil {
		err = why
	}
	return c.wrap(err)
}

func (c *conn) wrap(err error) error { return fmt.Errorf("%s: %w", c.name, err) }

// InFlight counts our own queue and the message that the library is writing; what the peer's queue takes depends on its
// library.
func (c *conn) InFlight(int) int {
	if c.self != mangos.ProtoPair {
		return 1
	}
	return c.queue + 1
}

// Facts names the library, the socket, its queues in messages, and the connection's buffers in bytes.
func (c *conn) Facts() map[string]string {
	facts := map[string]string{
		"library":    library,
		"socket":     c.sock.Info().SelfName,
		"send_queue": "0",
		"recv_queue": "0",
	}
	if c.self == mangos.ProtoPair {
		facts["send_queue"] = strconv.Itoa(c.queue)
		facts["recv_queue"] = strconv.Itoa(c.queue)
	}
	mqsock.Facts(c.pipe.raw, facts)
	return facts
}

// Close waits for the library to write what Send has given it, then ends the socket, which throws away the rest.
func (c *conn) Close() error {
	if !c.fate.Close() {
		return nil
	}
	close(c.closed)
	if c.gate != nil {
		c.gate.Close()
		if c.gate.hasGiven() {
			// mangos v3.4.2 locks up if a socket is closed while it gets a pipe.
			<-c.up
		}
	}
	select {
	case <-c.up:
		c.linger()
		c.pipe.Close()
	default:
		if c.pipe != nil {
			c.pipe.Close()
		}
	}
	if err := c.sock.Close(); err != nil && err != mangos.ErrClosed {
		return c.wrap(err)
	}
	return nil
}

// linger waits until the library has written what it was given, as long as the peer takes it.
func (c *conn) linger() {
	start := time.Now()
	moved, written := start, c.pipe.written.Load()
	for written < c.sent.Load() && !c.pipe.gone.Load() {
		time.Sleep(50 * time.Microsecond)
		now := time.Now()
		if w := c.pipe.written.Load(); w != written {
			written, moved = w, now
		}
		if now.Sub(moved) > stallTime || now.Sub(start) > lingerTime {
			return
		}
	}
}
