package zmq

import (
	"encoding/binary"
	"fmt"
	"net"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock"
)

// The flags of a ZMTP 3 frame.
const (
	flagMore = 1 << iota
	flagLong
	flagCommand
)

// tap is what the library gets in place of the plain connection. It passes all calls on and follows the frames that are
// read, because zmq4 v0.17.0 itself can't tell an end between messages from one inside, takes the length of a frame for
// an allocation of any size (a length above 2^47 or so panics in one of its goroutines), and in a REP socket
// drops a lost connection without a word.
type tap struct {
	raw    net.Conn // the connection itself, for its settings and for closing it
	conn   net.Conn // the tapped one: tapTCP or tapUnix
	max    uint64   // bytes of the largest frame
	ahead  []byte   // read before the library took the connection
	live   bool     // the handshake is over, frames follow
	topics bool     // it is of a PUB socket: only subscriptions may come, the library would queue anything else for ever
	fail   func(error)
	closed func() // called when the library closes the connection

	head [9]byte // flags and length of a frame
	have int     // bytes of head
	body uint64  // bytes of the frame still to come
	more bool    // another frame of this message follows
	kind bool    // the next byte of the body says whether it is a subscription
}

// tapTCP and tapUnix embed the concrete type, not net.Conn: package net writes several buffers with one writev only
// where it finds its own unexported method, which embedding keeps. With a plain wrapper each message would cost the
// library two to four writes instead of one.
type tapTCP struct {
	*net.TCPConn
	t *tap
}

type tapUnix struct {
	*net.UnixConn
	t *tap
}

func newTap(raw net.Conn, max int, fail func(error), closed func()) (*tap, error) {
	t := &tap{raw: raw, max: uint64(max), fail: fail, closed: closed}
	switch c := raw.(type) {
	case *net.TCPConn:
		t.conn = &tapTCP{c, t}
	case *net.UnixConn:
		t.conn = &tapUnix{c, t}
	default:
		return nil, fmt.Errorf("a connection of type %T", raw)
	}
	return t, nil
}

func (c *tapTCP) Read(p []byte) (int, error) {
	n, err := c.t.before(p)
	if n == 0 {
		n, err = c.TCPConn.Read(p)
	}
	return c.t.after(p, n, err)
}

func (c *tapUnix) Read(p []byte) (int, error) {
	n, err := c.t.before(p)
	if n == 0 {
		n, err = c.UnixConn.Read(p)
	}
	return c.t.after(p, n, err)
}

func (c *tapTCP) Close() error {
	err := c.TCPConn.Close()
	c.t.closed()
	return err
}

func (c *tapUnix) Close() error {
	err := c.UnixConn.Close()
	c.t.closed()
	return err
}

// before serves what was read ahead.
func (t *tap) before(p []byte) (int, error) {
	if len(t.ahead) == 0 {
		return 0, nil
	}
	n := copy(p, t.ahead)
	t.ahead = t.ahead[n:]
	return n, nil
}

// after looks at what a Read of p gave.
func (t *tap) after(p []byte, n int, err error) (int, error) {
	if !t.live {
		return n, err
	}
	if n > 0 && err == nil {
		err = t.follow(p[:n])
		if err == nil {
			return n, nil
		}
	} else if err != nil {
		err = mqsock.Ended(err, t.have > 0 || t.body > 0 || t.more)
	}
	if err != nil {
		t.fail(err)
		return 0, err
	}
	return n, nil
}

// follow keeps track of the frames in b. It returns ErrTooLarge or ErrFrame for a header that the library must not see.
func (t *tap) follow(b []byte) error {
	for len(b) > 0 {
		if t.body > 0 {
			if t.kind && b[0] > 1 {
				return transports.ErrFrame
			}
			t.kind = false
			n := min(t.body, uint64(len(b)))
			t.body -= n
			b = b[n:]
			continue
		}
		t.head[t.have] = b[0]
		t.have++
		b = b[1:]
		flags := t.head[0]
		if flags&^(flagMore|flagLong|flagCommand) != 0 {
			return transports.ErrFrame
		}
		switch {
		case t.have == 2 && flags&flagLong == 0:
			t.body = uint64(t.head[1])
		case t.have == len(t.head):
			t.body = binary.BigEndian.Uint64(t.head[1:])
		default:
			continue
		}
		if t.body > t.max {
			return transports.ErrTooLarge
		}
		t.have = 0
		t.more = flags&flagMore != 0
		if t.topics {
			if t.body == 0 || flags&(flagMore|flagCommand) != 0 {
				return transports.ErrFrame
			}
			t.kind = true
		}
	}
	return nil
}
