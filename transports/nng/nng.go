// Package nng has the transports nng-tcp and nng-ipc: the Scalability Protocols of nanomsg and NNG as a Go program gets
// them from go.nanomsg.org/mangos/v3, a library without C. Any libnng or libnanomsg program with the right kind of socket
// can be the peer:
//
//	pattern            dialing side     listening side
//	request-reply      REQ, connects    REP, binds
//	pipelined, stream  PAIR, connects   PAIR, binds (version 0 of the protocol)
//	broadcast          SUB, connects    PUB, binds
//
// PAIR carries the stream too, since it has a way back and is what the throughput programs of nanomsg and NNG use. A
// message is one message of the library; the endpoint is an address as the C libraries take it.
//
// The adapter makes the connections itself and hands them to the library (see hub and pipe), because mangos v3.4.2 on its
// own swallows the peer's end, discards what is queued when a socket closes, and gives no access to the socket's
// settings. The framing and all read and write calls are the library's.
//
// Known limits of mangos v3.4.2: TCP_NODELAY can't be chosen through the library (the adapter does it on the connection);
// messages of 64 KiB and more come from the allocator, smaller ones from a pool. PUB has a queue for each subscriber and
// drops the new message when it is full, SUB drops the oldest of its own: neither ever holds a publisher back.
package nng

import (
	"errors"
	"fmt"
	"runtime"

	"go.nanomsg.org/mangos/v3"
	"go.nanomsg.org/mangos/v3/protocol/pair"
	"go.nanomsg.org/mangos/v3/protocol/rep"
	"go.nanomsg.org/mangos/v3/protocol/req"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock"
)

// library is the version this adapter was written against; a test holds it to go.mod.
const library = "mangos/v3 v3.4.2"

const (
	// maxMessage is the largest message in bytes. The protocols have no limit.
	maxMessage = 64 << 20
	// defaultQueue is the library's own length of a queue, in messages.
	defaultQueue = 128
	// queueBytes bounds what a queue of the largest messages may hold.
	queueBytes = 32 << 20
)

// Transport is a Scalability Protocol over TCP or over Unix sockets. Connections are used by goroutines of the library:
// don't lock threads.
type Transport struct{ kind string }

// NewTCP returns nng-tcp: a port of 127.0.0.1 that the system chooses.
func NewTCP() *Transport { return &Transport{mqsock.TCP} }

// NewIPC returns nng-ipc: a Unix socket in Options.Dir.
func NewIPC() *Transport { return &Transport{mqsock.IPC} }

var (
	_ transports.Transport = (*Transport)(nil)
	_ transports.Prober    = (*Transport)(nil)
)

// Info tells the name and the limits.
func (t *Transport) Info() transports.Info {
	over := map[string]string{mqsock.TCP: "TCP on the loopback", mqsock.IPC: "Unix sockets"}[t.kind]
	return transports.Info{
		Name:       "nng-" + t.kind,
		Summary:    "Scalability Protocols of nanomsg and NNG (" + library + ") over " + over,
		Waits:      []transports.Wait{transports.Block},
		MaxMessage: maxMessage,
		Network:    t.kind == mqsock.TCP,
	}
}

// Probe says that nng-ipc does not run on Windows.
func (t *Transport) Probe() error {
	if t.kind == mqsock.IPC && runtime.GOOS == "windows" {
		return errors.New("nng-ipc: on Windows the ipc of nanomsg and NNG is a named pipe, which this adapter does not open")
	}
	return nil
}

// queue is the length of the library's queues in messages: its default, less for large messages, at least the depth.
func queue(o transports.Options) int {
	return max(o.Depth, min(defaultQueue, queueBytes/max(o.MaxMessage, 1)))
}

// socket makes the library's socket for one side, with all that has to be set before it connects.
func (t *Transport) socket(o transports.Options, listens bool) (mangos.Socket, error) {
	options := map[string]any{}
	var make func() (mangos.Socket, error)
	switch {
	case o.Pattern != transports.RequestReply:
		make = pair.NewSocket
		options[mangos.OptionReadQLen] = queue(o)
		options[mangos.OptionWriteQLen] = queue(o)
	case listens:
		make = rep.NewSocket
	default:
		make = req.NewSocket
		options[mangos.OptionRetryTime] = noRetry // a request sent again would be counted twice
	}
	sock, err := make()
	if err != nil {
		return nil, err
	}
	for name, value := range options {
		if err := sock.SetOption(name, value); err != nil {
			sock.Close()
			return nil, fmt.Errorf("option %s: %w", name, err)
		}
	}
	return sock, nil
}

// Listen binds one address.
func (t *Transport) Listen(o transports.Options) (transports.Listener, error) {
	c, err := t.conn(o, true)
	if err != nil {
		return nil, err
	}
	l, err := listen(c, o)
	if err != nil {
		c.Close()
		return nil, c.wrap(err)
	}
	return l, nil
}

// Dial connects to one address.
func (t *Transport) Dial(endpoint string, o transports.Options) (transports.Conn, error) {
	c, err := t.conn(o, false)
	if err != nil {
		return nil, err
	}
	if err := c.dial(endpoint); err != nil {
		c.Close()
		return nil, c.wrap(err)
	}
	return c, nil
}

// conn makes a connection whose socket is not connected yet.
func (t *Transport) conn(o transports.Options, listens bool) (*conn, error) {
	info := t.Info()
	o, err := o.Normalized(info)
	if err != nil {
		return nil, err
	}
	switch o.Pattern {
	case transports.RequestReply, transports.Pipelined, transports.Stream:
	default:
		return nil, fmt.Errorf("%s: no pattern %q", info.Name, o.Pattern)
	}
	if err := t.Probe(); err != nil {
		return nil, err
	}
	sock, err := t.socket(o, listens)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", info.Name, err)
	}
	return newConn(info.Name, t.kind, o, sock), nil
}
