package zmq

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	zmq4 "github.com/go-zeromq/zmq4"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock"
)

// lingerTime bounds how long Close waits for the library to write the last reply.
const lingerTime = 2 * time.Second

// copyBelow is the size in bytes from which waiting for a reply to be written costs less than copying it.
const copyBelow = 16 << 10

// errTurn is for calls that break the alternation of request and reply.
var errTurn = errors.New("request-reply alternates: a reply needs a request")

// conn is one side of a connection: one socket of the library, or two for a stream.
type conn struct {
	name    string
	kind    string  // of endpoint
	max     int     // bytes of the largest message
	out, in *link   // the same but for a stream
	links   []*link // in the order of the endpoint's addresses: a stream's data first, then the way back
	fate    mqsock.Fate
	closed  chan struct{} // by Close

	// The call that sends a reply returns before it is written, by a goroutine of the library that reads the slice it was
	// given. So a small reply is copied, into one of two buffers in turn: once the library has taken a reply, it is done
	// with the one before. A large one is waited for.
	owed   atomic.Bool  // a request has been received and not been answered
	given  atomic.Int64 // replies given to the library
	copies [2][]byte
}

var _ transports.Conn = (*conn)(nil)

// dial connects the sockets to the addresses of an endpoint.
func (c *conn) dial(kind, endpoint string) error {
	addresses := strings.Split(endpoint, ",")
	if len(addresses) != len(c.links) {
		return fmt.Errorf("endpoint %q: %w", endpoint, errPattern)
	}
	for i, k := range c.links {
		if err := k.dial(kind, addresses[i]); err != nil {
			return err
		}
	}
	return nil
}

// Send returns when the message is with the kernel, or, for a reply, with the library.
func (c *conn) Send(msg []byte) error {
	if len(msg) > c.max {
		return c.wrap(transports.ErrTooLarge)
	}
	if err := c.fate.Err(); err != nil {
		return c.wrap(err)
	}
	if c.out.typ == zmq4.Rep {
		return c.reply(msg)
	}
	// SendMulti writes a message with one system call, where Send of zmq4 v0.17.0 makes two for each frame.
	if err := c.out.sock.SendMulti(zmq4.NewMsg(msg)); err != nil {
		return c.failed(err)
	}
	return nil
}

// reply is Send for a REP socket.
func (c *conn) reply(msg []byte) error {
	if !c.owed.CompareAndSwap(true, false) {
		return c.wrap(errTurn)
	}
	if len(msg) >= copyBelow {
		return c.largeReply(msg)
	}
	b := &c.copies[c.given.Load()&1]
	if cap(*b) == 0 || cap(*b) < len(msg) {
		*b = make([]byte, max(len(msg), 256))
	}
	*b = append((*b)[:0], msg...)
	if err := c.out.sock.SendMulti(zmq4.NewMsg(*b)); err != nil {
		return c.failed(err)
	}
	c.given.Add(1)
	return nil
}

// largeReply hands the library the caller's slice and waits until it has been written.
func (c *conn) largeReply(msg []byte) error {
	k := c.out
	select {
	case <-k.written: // of a reply that was given up
	default:
	}
	if err := k.sock.SendMulti(zmq4.NewMsg(msg)); err != nil {
		return c.failed(err)
	}
	c.given.Add(1)
	select {
	case <-k.written:
		return nil
	case <-k.ctx.Done():
		return c.failed(k.ctx.Err())
	}
}

// Recv returns the next message in memory of its own: zmq4 v0.17.0 allocates each frame.
func (c *conn) Recv() ([]byte, error) {
	for {
		m, err := c.in.sock.Recv()
		if err != nil {
			if m, err = c.leftover(err); err != nil {
				return nil, err
			}
		}
		if m.Type == zmq4.CmdMsg {
			continue // a heartbeat
		}
		if c.in.typ == zmq4.Rep {
			c.owed.Store(true)
		}
		return c.body(m.Frames)
	}
}

// body returns the one frame that is a message. zmq4 v0.17.0 puts an empty one before the reply to an empty request.
func (c *conn) body(frames [][]byte) ([]byte, error) {
	for n := len(frames); n > 0; n-- {
		if n == 1 {
			return frames[len(frames)-1], nil
		}
		if len(frames[n-2]) > 0 {
			break
		}
	}
	return nil, c.wrap(fmt.Errorf("a message of %d frames: %w", len(frames), transports.ErrFrame))
}

// leftover is called when the library's Recv gives an error: it returns a message that had come before the end, or why
// the connection has ended.
func (c *conn) leftover(err error) (zmq4.Msg, error) {
	why := c.fate.Err()
	switch {
	case c.in.typ != zmq4.Rep:
		if why != nil { // else a REQ socket was asked out of turn
			// The reader has gone, and this was the last it left in the queue: whoever else waits, waits for nothing.
			c.in.cancel()
		}
	case why == nil:
		return zmq4.Msg{}, c.wrap(fmt.Errorf("%w: %v", transports.ErrFrame, err)) // no envelope of a request
	case why != transports.ErrClosed:
		// The socket's context has ended, and where there is a request too the library's Recv chooses at random.
		// After 64 fair choices there is none.
		for range 64 {
			if m, err := c.in.sock.Recv(); err == nil {
				return m, nil
			}
		}
	}
	return zmq4.Msg{}, c.failed(err)
}

// failed gives the reason for an error of the library, which may be no more than that a context was canceled.
func (c *conn) failed(err error) error {
	if why := c.fate.Err(); why != nil {
		err = why
	} else {
		err = mqsock.Ended(err, false)
	}
	return c.wrap(err)
}

func (c *conn) wrap(err error) error { return fmt.Errorf("%s: %w", c.name, err) }

// linger waits until the library has written what it was given.
func (c *conn) linger() {
	for until := time.Now().Add(lingerTime); c.out.replies.Load() < c.given.Load(); time.Sleep(50 * time.Microsecond) {
		if c.fate.Err() != nil || time.Now().After(until) {
			return
		}
	}
}

// Close waits for the last reply to be written, then ends both sockets.
func (c *conn) Close() error {
	if c.fate.Err() == nil && c.out.typ == zmq4.Rep && c.out.isUp() {
		c.linger()
	}
	if !c.fate.Close() {
		return nil
	}
	close(c.closed)
	for _, k := range c.links {
		k.close()
	}
	return nil
}
