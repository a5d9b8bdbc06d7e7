// Package zmq has the transports zmq-tcp and zmq-ipc: ZeroMQ as a Go program gets it from github.com/go-zeromq/zmq4, a
// library without C. The wire format is ZMTP 3, so any libzmq program with the right kind of socket can be the peer:
//
//	pattern        dialing side            listening side
//	request-reply  REQ, connects           REP, binds
//	pipelined      DEALER, connects        DEALER, binds
//	stream         PUSH, connects to the   PULL, binds the first address of the endpoint,
//	               first address, PULL to  PUSH binds the second: the way back
//	               the second
//	broadcast      SUB, connects           PUB, binds
//
// A message is one frame. The endpoint is an address as libzmq takes it, or two joined by a comma for a stream.
//
// What zmq4 v0.17.0 lacks, the adapter adds on the outside, where it costs no system call: it makes the connections itself
// and hands them to the library (see hub, gate and tap), with the read and write calls of the library left as they are,
// inefficient ones included. A message still costs the goroutines, allocations and system calls that zmq4 makes of it.
//
// Known limits of zmq4 v0.17.0: an answer to an empty request starts with one empty frame too many; heartbeats
// (ZMQ_HEARTBEAT_IVL of libzmq, off by default) are skipped, not answered; REQ does not see its peer leave before the
// next Send or Recv. PUB has one queue and one goroutine for all subscribers, so one that takes nothing holds up the others,
// and what then is over the high-water mark is lost for all. It keeps the slices that it is given, so the adapter copies
// each message once, as any program with a buffer of its own has to.
package zmq

import (
	"errors"
	"fmt"
	"slices"

	zmq4 "github.com/go-zeromq/zmq4"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock"
)

// library is the version this adapter was written against; a test holds it to go.mod.
const library = "go-zeromq/zmq4 v0.17.0"

// maxMessage is the largest message in bytes. ZMTP has no limit; zmq4 allocates each frame anew.
const maxMessage = 64 << 20

// Transport is ZeroMQ over TCP or over Unix sockets. Connections are used by goroutines of the library: don't lock threads.
type Transport struct{ kind string }

// NewTCP returns zmq-tcp: a port of 127.0.0.1 that the system chooses.
func NewTCP() *Transport { return &Transport{mqsock.TCP} }

// NewIPC returns zmq-ipc: a Unix socket in Options.Dir.
func NewIPC() *Transport { return &Transport{mqsock.IPC} }

var _ transports.Transport = (*Transport)(nil)

// Info tells the name and the limits.
func (t *Transport) Info() transports.Info {
	over := map[string]string{mqsock.TCP: "TCP on the loopback", mqsock.IPC: "Unix sockets"}[t.kind]
	return transports.Info{
		Name:       "zmq-" + t.kind,
		Summary:    "ZeroMQ (" + library + ") over " + over,
		Waits:      []transports.Wait{transports.Block},
		MaxMessage: maxMessage,
		Network:    t.kind == mqsock.TCP,
	}
}

// The sockets of each side, in the order of the addresses in an endpoint.
var (
	dialing = map[transports.Pattern][]zmq4.SocketType{
		transports.RequestReply: {zmq4.Req},
		transports.Pipelined:    {zmq4.Dealer},
		transports.Stream:       {zmq4.Push, zmq4.Pull},
	}
	listening = map[transports.Pattern][]zmq4.SocketType{
		transports.RequestReply: {zmq4.Rep},
		transports.Pipelined:    {zmq4.Dealer},
		transports.Stream:       {zmq4.Pull, zmq4.Push},
	}
)

// Listen binds one address, or two for a stream.
func (t *Transport) Listen(o transports.Options) (transports.Listener, error) {
	c, err := t.conn(o, listening)
	if err != nil {
		return nil, err
	}
	l := &listener{conn: c}
	for _, k := range c.links {
		address, err := k.listen(t.kind, o)
		if err != nil {
			c.Close()
			return nil, c.wrap(err)
		}
		l.addresses = append(l.addresses, address)
	}
	return l, nil
}

// Dial connects to one address, or to the two of a stream.
func (t *Transport) Dial(endpoint string, o transports.Options) (transports.Conn, error) {
	c, err := t.conn(o, dialing)
	if err != nil {
		return nil, err
	}
	if err := c.dial(t.kind, endpoint); err != nil {
		c.Close()
		return nil, c.wrap(err)
	}
	return c, nil
}

// conn makes a connection whose sockets are not connected yet.
func (t *Transport) conn(o transports.Options, table map[transports.Pattern][]zmq4.SocketType) (*conn, error) {
	info := t.Info()
	o, err := o.Normalized(info)
	if err != nil {
		return nil, err
	}
	r, ok := table[o.Pattern]
	if !ok {
		return nil, fmt.Errorf("%s: no pattern %q", info.Name, o.Pattern)
	}
	if err := register(); err != nil {
		return nil, fmt.Errorf("%s: %w", info.Name, err)
	}
	c := &conn{name: info.Name, kind: t.kind, max: o.MaxMessage, closed: make(chan struct{})}
	for _, typ := range r {
		c.links = append(c.links, newLink(typ, o, &c.fate))
	}
	c.in, c.out = c.links[0], c.links[0]
	if len(r) == 2 {
		c.in, c.out = c.links[slices.Index(r, zmq4.Pull)], c.links[slices.Index(r, zmq4.Push)]
	}
	return c, nil
}

var errPattern = errors.New("the two sides have different patterns")
