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
	accepted transports.Conn // the link belongs to it now
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
	c, err := newConn(l.t, l.link, l.o, w)
	if err != nil {
		return nil, err
	}
	l.accepted = c
	return c, nil
}

func (l *listener) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Close ends a blocked Accept and, where nobody has come, the service. A broadcast can't be subscribed to any more.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	switch c := l.accepted.(type) {
	case nil:
		return l.link.Close()
	case interface{ withdraw() }:
		if l.broadcast {
			c.withdraw()
		}
	}
	return nil
}
