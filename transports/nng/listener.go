package nng

import (
	"net"
	"sync"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock"
)

// listener waits until the peer of its one connection has come.
type listener struct {
	conn *conn

	mu    sync.Mutex
	given bool // Accept has returned the connection: it is no longer ours to close
}

var _ transports.Listener = (*listener)(nil)

// listen binds a socket for c.
func listen(c *conn, o transports.Options) (*listener, error) {
	l, address, err := mqsock.Listen(c.kind, o)
	if err != nil {
		return nil, err
	}
	c.gate = newGate(l, address, false, func(raw net.Conn) (*pipe, error) {
		if err := mqsock.SetNagle(raw, c.nagle); err != nil {
			return nil, err
		}
		return greet(raw, c.sock.Info(), c.limit(), &c.fate)
	}, func(p *pipe) { c.pipe = p })
	ep, forget := prepare(c)
	defer forget()
	return &listener{conn: c}, c.sock.Listen(ep)
}

func (l *listener) Endpoint() string { return l.conn.gate.address }

func (l *listener) Accept() (transports.Conn, error) {
	select {
	case <-l.conn.up:
	case <-l.conn.closed:
		return nil, l.conn.wrap(transports.ErrClosed)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn.fate.Err() == transports.ErrClosed {
		return nil, l.conn.wrap(transports.ErrClosed)
	}
	l.given = true
	return l.conn, nil
}

func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.given {
		return nil // the gate has closed behind the peer
	}
	return l.conn.Close()
}
