package zmq

import (
	"strings"
	"sync"

	"msgbench/transports"
)

// listener waits until the peer of its one connection has come. The library knows no such moment: see handshake.
type listener struct {
	conn      *conn
	addresses []string

	mu    sync.Mutex
	given bool // Accept has returned the connection: it is no longer ours to close
}

var _ transports.Listener = (*listener)(nil)

func (l *listener) Endpoint() string { return strings.Join(l.addresses, ",") }

func (l *listener) Accept() (transports.Conn, error) {
	for _, k := range l.conn.links {
		select {
		case <-k.up:
		case <-l.conn.closed:
			return nil, l.conn.wrap(transports.ErrClosed)
		}
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
		return nil // the gates have closed behind the peer
	}
	return l.conn.Close()
}
