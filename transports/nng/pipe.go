package nng

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.nanomsg.org/mangos/v3"
	"go.nanomsg.org/mangos/v3/transport"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock"
)

// pipe is what the library gets as its connection: the library's own pipe, with the errors noted that mangos v3.4.2
// keeps to itself, and the messages counted that it has written.
type pipe struct {
	mangos.TranPipe
	raw  net.Conn
	got  *int // bytes of the message that is being read
	fate *mqsock.Fate
	// last is a message for our own Recv that says there are no more. It goes through the library's queue, behind what
	// was read before. nil for a REQ socket, which takes nothing but the reply it waits for, and wakes by itself.
	last  *mangos.Message
	ended bool // last is on its way; used by the library's reader only

	// Of a publisher only.
	flush   *mangos.Message // is not to be written: all before it has been
	flushed atomic.Bool     // it has come
	left    func()          // called by Close

	written atomic.Int64 // messages that the library is done with
	gone    atomic.Bool  // the peer can't be reached any more
	done    chan struct{}
	once    sync.Once
}

// lastMark is the header of the last message of a PAIR or SUB socket; those from the wire have none.
const lastMark = 0xff

// wireTCP and wireUnix count what is read. They embed the concrete type, not net.Conn: package net writes the buffers of
// a message with one writev only where it finds its own unexported method, which embedding keeps.
type wireTCP struct {
	*net.TCPConn
	got int
}

type wireUnix struct {
	*net.UnixConn
	got int
}

func (w *wireTCP) Read(p []byte) (int, error) {
	n, err := w.TCPConn.Read(p)
	w.got += n
	return n, err
}

func (w *wireUnix) Read(p []byte) (int, error) {
	n, err := w.UnixConn.Read(p)
	w.got += n
	return n, err
}

// greet performs the protocol's handshake and returns the pipe. limit is the largest body on the wire in bytes.
func greet(raw net.Conn, info mangos.ProtocolInfo, limit int, fate *mqsock.Fate) (*pipe, error) {
	p := &pipe{raw: raw, fate: fate, done: make(chan struct{})}
	var inner transport.ConnPipe
	switch c := raw.(type) {
	case *net.TCPConn:
		w := &wireTCP{TCPConn: c}
		p.got, inner = &w.got, transport.NewConnPipe(w, info)
	case *net.UnixConn:
		w := &wireUnix{UnixConn: c}
		p.got, inner = &w.got, transport.NewConnPipeIPC(w, info)
	default:
		return nil, fmt.Errorf("a connection of type %T", raw)
	}
	// The library's limit of 1 MiB does not apply to pipes that are made here; without one, any length is allocated.
	inner.SetOption(mangos.OptionMaxRecvSize, limit)
	raw.SetDeadline(time.Now().Add(mqsock.HandshakeTime))
	h := transport.NewConnHandshaker()
	h.Start(inner)
	if _, err := h.Wait(); err != nil {
		return nil, fmt.Errorf("handshake of %s: %w", info.SelfName, err)
	}
	p.TranPipe = inner
	switch info.Self {
	case mangos.ProtoReq, mangos.ProtoPub:
	case mangos.ProtoRep:
		p.last = mangos.NewMessage(4)
		p.last.Body = append(p.last.Body, 0x80, 0, 0, 0) // the number that ends the envelope of a request
	default:
		p.last = mangos.NewMessage(0)
		p.last.Header = append(p.last.Header, lastMark)
	}
	return p, raw.SetDeadline(time.Time{})
}

// Send writes a message. An error is not the library's business: it would close the pipe, and with it throw away what
// the peer had sent before it left. The reader sees the same end in its turn.
func (p *pipe) Send(m *mangos.Message) error {
	if m == p.flush {
		p.flushed.Store(true)
		return nil
	}
	if p.gone.Load() {
		m.Free()
	} else if err := p.TranPipe.Send(m); err != nil {
		m.Free()
		p.fail(mqsock.Ended(err, false))
	}
	p.written.Add(1)
	return nil
}

// Recv reads a message, or returns last when there are no more, and then waits for Close.
func (p *pipe) Recv() (*mangos.Message, error) {
	if p.ended {
		<-p.done
		return nil, mangos.ErrClosed
	}
	*p.got = 0
	m, err := p.TranPipe.Recv()
	if err == nil {
		return m, nil
	}
	if err == mangos.ErrTooLong {
		p.fail(transports.ErrTooLarge)
	} else {
		p.fail(mqsock.Ended(err, *p.got > 0))
	}
	if p.last == nil {
		return nil, err
	}
	p.ended = true
	return p.last, nil
}

// isLast tells whether a message that Recv has got from the library is last. SUB may get a copy of it.
func (p *pipe) isLast(m *mangos.Message) bool {
	return m == p.last || p.last != nil && len(m.Header) == 1 && m.Header[0] == lastMark
}

// fail notes why the connection has come to its end.
func (p *pipe) fail(err error) {
	p.fate.Fail(err)
	p.gone.Store(true)
}

// Close ends the connection, and both calls.
func (p *pipe) Close() error {
	p.once.Do(func() {
		close(p.done)
		if p.left != nil {
			p.left()
		}
	})
	return mqsock.Hangup(p.raw)
}
