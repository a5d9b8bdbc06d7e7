// Package brokered moves messages through a router that runs in a process of its own, as service frameworks do. Package
// broker is the router; docs/wire-broker.md tells what is on the wire.
package brokered

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"msgbench/broker"
	"msgbench/transports"
)

// Transport is the brokered transport over one kind of socket.
type Transport struct {
	name, network string
}

var (
	_ transports.Brokered    = (*Transport)(nil)
	_ transports.Broadcaster = (*Transport)(nil)
)

// NewTCP returns the brokered transport over TCP on the loopback interface.
func NewTCP() transports.Transport { return &Transport{"broker", "tcp"} }

// NewUnix returns the brokered transport over Unix domain sockets.
func NewUnix() transports.Transport { return &Transport{"broker-uds", "unix"} }

// maxMessage is the size of the largest message in bytes: the router's largest frame, less what stands before a payload.
const maxMessage = broker.DefaultMaxFrame - frameExtra

// frameExtra is how many bytes a frame has beyond the message that it carries, at most.
const frameExtra = broker.HeaderSize

// broadcastEvent is the number of the one broadcast that a service has here.
const broadcastEvent = 1

// Info tells what it can do.
func (t *Transport) Info() transports.Info {
	sockets := "TCP over loopback"
	if t.network == "unix" {
		sockets = "Unix domain sockets"
	}
	return transports.Info{
		Name:       t.name,
		Summary:    "through a router process, " + sockets + "; scope stack: typed calls of a service, scope raw: flat buffers",
		Waits:      []transports.Wait{transports.Block},
		MaxMessage: maxMessage,
		Brokered:   true,
		Network:    t.network == "tcp",
	}
}

// Hops is two: to the router and from it.
func (*Transport) Hops() int { return 2 }

// Locks tells whether the caller does all the I/O itself (scope raw), or asks for a thread for its component.
func (*Transport) Locks(o transports.Options) bool { return o.Scope == transports.Raw || o.LockThread }

// Sizes are those of the typed payloads.
func (*Transport) Sizes(s transports.Scope) []int {
	if s == transports.Raw {
		return nil
	}
	return broker.Ladder
}

// Lossy is false: the router lets a publisher wait for a slow subscriber.
func (*Transport) Lossy() bool { return false }

// normalized checks the options of an end.
func (t *Transport) normalized(o transports.Options) (transports.Options, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return o, err
	}
	switch o.Scope {
	case "":
		o.Scope = transports.Stack
	case transports.Stack, transports.Raw:
	default:
		return o, fmt.Errorf("%s: no scope %q, only %s and %s", t.name, o.Scope, transports.Stack, transports.Raw)
	}
	return o, nil
}

// middle is the router as a transports.Broker.
type middle struct {
	*broker.Router
	token []byte
}

// ListenBroker makes the router, on a free port or in the folder of the options.
func (t *Transport) ListenBroker(o transports.Options) (transports.Broker, error) {
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		return nil, fmt.Errorf("%s: random token: %w", t.name, err)
	}
	address := o.ListenOn()
	if t.network == "unix" {
		address = filepath.Join(o.Dir, "broker.sock")
	}
	l, err := net.Listen(t.network, address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	return &middle{broker.New(l, broker.Options{Token: token, Meter: o.Meter}), token}, nil
}

// Endpoint is what Options.Broker takes.
func (m *middle) Endpoint() string { return broker.Endpoint(m.Addr(), m.token) }

// Facts are the router's settings.
func (*middle) Facts() map[string]string {
	return map[string]string{"router_slow": string(broker.Block)}
}

// Counts are the router's since it began, warm-up included.
func (m *middle) Counts() map[string]int64 {
	c := m.Router.Counts()
	return map[string]int64{"messages": c.Messages, "dropped": c.Dropped, "waits": c.Waits}
}

// Listen registers a service that one Dial can find.
func (t *Transport) Listen(o transports.Options) (transports.Listener, error) {
	return t.listen(o, false)
}

// ListenBroadcast registers a service whose broadcast DialBroadcast subscribes to.
func (t *Transport) ListenBroadcast(o transports.Options) (transports.Listener, error) {
	return t.listen(o, true)
}

func (t *Transport) listen(o transports.Options, broadcast bool) (transports.Listener, error) {
	o, err := t.normalized(o)
	if err != nil {
		return nil, err
	}
	link, err := broker.Connect(context.Background(), o.Broker, o.MaxMessage+frameExtra)
	if err != nil {
		return nil, err
	}
	l := &listener{t: t, link: link, o: o, broadcast: broadcast}
	name := make([]byte, 8)
	if _, err := rand.Read(name); err == nil {
		l.name = "msgbench-" + hex.EncodeToString(name)
		l.service, err = link.Register(l.name, allMethods())
	}
	if err != nil {
		link.Close()
		return nil, err
	}
	return l, nil
}

// allMethods are the methods that a service of ours has: one for each kind of message and size of payload, and one for
// parameters of the scenario's own.
func allMethods() []uint32 {
	var m []uint32
	for kind := uint32(0); kind <= lastKind; kind++ {
		for i := range broker.Ladder {
			m = append(m, broker.Method(kind, i))
		}
		m = append(m, broker.OwnMethod(kind))
	}
	return m
}

// Dial finds the service that endpoint names.
func (t *Transport) Dial(endpoint string, o transports.Options) (transports.Conn, error) {
	return t.dial(endpoint, o, false)
}

// DialBroadcast subscribes to the broadcast of the service that endpoint names.
func (t *Transport) DialBroadcast(endpoint string, o transports.Options) (transports.Conn, error) {
	return t.dial(endpoint, o, true)
}

func (t *Transport) dial(endpoint string, o transports.Options, broadcast bool) (transports.Conn, error) {
	o, err := t.normalized(o)
	if err != nil {
		return nil, err
	}
	i := strings.LastIndexByte(endpoint, '@')
	if i < 0 {
		return nil, fmt.Errorf("%s: endpoint %q is not SERVICE@ROUTER", t.name, endpoint)
	}
	link, err := broker.Connect(context.Background(), endpoint[i+1:], o.MaxMessage+frameExtra)
	if err != nil {
		return nil, err
	}
	s, err := link.Find(endpoint[:i])
	if err == nil && broadcast {
		err = link.Subscribe(s.ID, broadcastEvent)
	}
	if err != nil {
		link.Close()
		return nil, err
	}
	return newConn(t, link, o, way{peer: s.Provider, service: s.ID, receives: broadcast})
}
