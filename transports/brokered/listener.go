package brokered

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"msgbench/broker"
	"msgbench/transports"
)

// listener is a provider until its consumer has come.
type listener struct {
	t         *Transport
	link      *broker.Link
	o         transports.Options
	name      string
	service   uint32
	broadcast bool

	mu       sync.Mutex
	accepted bool // the link belongs to the connection now
	closed   bool
}

// Endpoint is the name of the service and where its router is.
func (l *listener) Endpoint() string { return l.name + "@" + l.o.Broker }

// Accept waits for the first consumer that finds the service; a broadcast waits for nobody.
func (l *listener) Accept() (transports.Conn, error) {
	w := way{service: l.service, sends: l.broadcast}
	for !l.broadcast && w.peer == 0 {
		f, err := l.link.Next()
		if err != nil {
			if l.isClosed() || errors.Is(err, net.ErrClosed) {
				err = transports.ErrClosed
			}
			return nil, fmt.Errorf("%s: accept: %w", l.t.name, err)
		}
		if broker.EventOf(f) == broker.Attached {
			w.peer = broker.SourceOf(f)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("%s: accept: %w", l.t.name, transports.ErrClosed)
	}
	l.accepted = true
	return newConn(l.t, l.link, l.o, w)
}

func (l *listener) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Close ends a blocked Accept and, where nobody has come, the service.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.accepted {
		return nil
	}
	l.closed = true
	return l.link.Close()
}
