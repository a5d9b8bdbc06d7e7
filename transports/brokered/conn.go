package brokered

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"msgbench/broker"
	"msgbench/transports"
	"msgbench/transports/internal/frame"
)

// way is where the messages of a connection go and come from.
type way struct {
	peer     uint32 // cookie of the other end; 0 for a publisher
	service  uint32
	sends    bool // a publisher's: to all subscribers
	receives bool // a subscriber's
}

// copyLimit is up to which size a message is copied behind its header, in bytes: as in package frame.
const copyLimit = 16 << 10

// wire is what both scopes have in common: sending frames, and telling those that come apart.
type wire struct {
	name   string
	way    way
	max    int // bytes of the largest message
	stream frame.Stream
	facts  map[string]string
	full   func(frame int) int
	gone   bool // the other end
	in     *broker.Reader

	reading sync.Mutex     // of in, where it is a publisher's
	bg      sync.WaitGroup // calls of withdraw that go on
	mu      sync.Mutex     // an answer to a heartbeat may come between
	out     []byte         // the header that all messages share, and room behind it
	corked  bool
	kept    []byte // whole frames that are not yet written
	pong    []byte
	seq     uint64
}

func newWire(t *Transport, link *broker.Link, o transports.Options, w way, room int) *wire {
	h := broker.Header{BufType: broker.BufFlat, Event: broker.Message, Target: w.peer, Source: link.Cookie, Service: w.service,
		Call: broker.CallNotify, Provider: broker.Address{ID: w.service, Major: 1}}
	if w.sends {
		h.Event, h.EventID = broker.Broadcast, broadcastEvent
	}
	x := &wire{name: t.name, way: w, max: o.MaxMessage, in: link.In, out: make([]byte, broker.HeaderSize+room)}
	h.Put(x.out)
	x.pong = broker.Frame(broker.Header{BufType: broker.BufControl, Event: broker.Pong, Source: link.Cookie}, nil)
	return x
}

// sendFlat sends a message as it is.
func (x *wire) sendFlat(msg []byte) error {
	if x.way.receives && !x.stream.Closed() {
		return x.sent(errDirection)
	}
	if len(msg) > x.max {
		return fmt.Errorf("%s: send: %w", x.name, frame.TooLarge(len(msg), x.max))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seq++
	broker.SetCall(x.out, broker.BufFlat, 0, x.seq, broker.CallNotify)
	head, body := x.out[:broker.HeaderSize], msg
	if len(msg) <= len(x.out)-broker.HeaderSize {
		head, body = x.out[:broker.HeaderSize+copy(x.out[broker.HeaderSize:], msg)], nil
	}
	broker.Seal(head, body)
	return x.write(head, body)
}

func (x *wire) sent(err error) error {
	if err != nil {
		return fmt.Errorf("%s: send: %w", x.name, err)
	}
	return nil
}

// errDirection is for who calls against the direction of a broadcast.
var errDirection = errors.New("a broadcast goes from the publisher to its subscribers only")

// closeTime bounds how long closing waits for a router that is held up.
const closeTime = 200 * time.Millisecond

// withdraw takes a publisher's service from those that can be found, and waits until the router has done that: by then it has
// also taken everything that was sent before. It does not wait long, since a slow subscriber may hold the router up, or a
// blocked Send the connection; then it happens later.
func (x *wire) withdraw() {
	done := make(chan struct{})
	x.bg.Go(func() {
		defer close(done)
		f := broker.Frame(broker.Header{BufType: broker.BufControl, Event: broker.Withdraw, Source: broker.SourceOf(x.out), Service: x.way.service}, nil)
		x.mu.Lock()
		err := x.stream.WriteBoth(f, nil)
		x.mu.Unlock()
		x.reading.Lock() // nobody else receives on a publisher's connection
		defer x.reading.Unlock()
		for err == nil {
			if f, err = x.in.Next(); err == nil && broker.EventOf(f) == broker.Withdrawn {
				return
			}
		}
	})
	select {
	case <-done:
	case <-time.After(closeTime):
	}
}

// close closes the stream. A publisher's is settled first: a socket that is closed with unread bytes, such as notices of who
// has come, takes back what it has not yet delivered.
func (x *wire) close() error {
	if x.way.sends && !x.stream.Closed() {
		x.withdraw()
	}
	err := x.stream.Close()
	x.bg.Wait()
	return err
}

// ours tells whether a checked frame is a message of the other end. If it is not, it has been dealt with; the error is
// io.EOF when the other end has gone.
func (x *wire) ours(f []byte) (bool, error) {
	switch broker.EventOf(f) {
	case broker.Message:
		if x.way.peer == 0 || broker.SourceOf(f) != x.way.peer {
			return false, nil // of somebody who found the service, too, and was not the first
		}
		return true, nil
	case broker.Broadcast:
		return x.way.receives && broker.ServiceOf(f) == x.way.service, nil
	case broker.Gone:
		if broker.SourceOf(f) == x.way.peer {
			x.gone = true
		}
	case broker.Undeliverable:
		x.gone = true
	case broker.Ping:
		x.mu.Lock()
		defer x.mu.Unlock()
		return false, x.stream.WriteBoth(x.pong, nil)
	case broker.Refused:
		return false, fmt.Errorf("%w: %q", broker.ErrRefused, broker.Body(f))
	}
	if x.gone {
		return false, io.EOF
	}
	return false, nil
}

// received makes an error of receiving the contract's.
func (x *wire) received(err error) error {
	switch {
	case x.stream.Closed():
		err = transports.ErrClosed
	case err == io.EOF:
		return err // bare, as readers expect it
	}
	return fmt.Errorf("%s: receive: %w", x.name, err)
}

// InFlight is how many messages of size bytes the sockets surely take while nobody receives.
func (x *wire) InFlight(size int) int { return max(1, x.full(frameExtra+size)) }

// Facts are the settings of the connection.
func (x *wire) Facts() map[string]string { return x.facts }

// raw is a connection of scope raw: flat buffers, and no goroutine but the caller's.
type raw struct{ *wire }

var _ interface {
	transports.Conn
	transports.Sized
} = (*raw)(nil)

// newConn makes the connection of a link.
func newConn(t *Transport, link *broker.Link, o transports.Options, w way) (transports.Conn, error) {
	if o.Scope == transports.Stack {
		return newStack(t, link, o, w)
	}
	x := &raw{newWire(t, link, o, w, min(o.MaxMessage, copyLimit))}
	if err := x.openBlocking(link.Conn, o); err != nil {
		return nil, err
	}
	x.in.Src = x.stream
	x.facts["handoffs"] = "0"
	return x, nil
}

// Send sends a message.
func (x *raw) Send(msg []byte) error { return x.sendFlat(msg) }

// Recv returns the next message.
func (x *raw) Recv() ([]byte, error) {
	if x.way.sends && !x.stream.Closed() {
		return nil, x.received(errDirection)
	}
	for !x.stream.Closed() {
		if x.gone {
			return nil, io.EOF
		}
		f, err := x.in.Next()
		if err != nil {
			return nil, x.received(err)
		}
		ours, err := x.ours(f)
		if err != nil {
			return nil, x.received(err)
		}
		if ours {
			return broker.Body(f), nil
		}
	}
	return nil, x.received(transports.ErrClosed)
}

// WireSizes are header, envelope and payload.
func (*raw) WireSizes(request, response int) (int, int) {
	const head = broker.HeaderSize + transports.EnvelopeSize
	return head + request, head + response
}

// Close closes the connection.
func (x *raw) Close() error { return x.close() }
