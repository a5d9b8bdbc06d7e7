package zmq

import (
	"crypto/rand"
	"errors"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	zmq4 "github.com/go-zeromq/zmq4"

	"msgbench/transports/internal/mqsock"
)

// lastPost is a subscriber within this process, the first that a PUB socket gets, with a topic that no message begins
// with. It is how a PUB socket is drained and ended: in zmq4 v0.17.0 nothing ends the goroutine that writes, and nothing
// tells how far it has come. It writes each message to one subscriber after the other; so when it comes here with a message
// of this topic, all messages before that are written, this one has gone to nobody, and the goroutine is ours
// to end. Until then it costs each publication one comparison of topics.
type lastPost struct {
	net.Conn // one end of a pipe in memory, for deadlines and for the end
	script   []byte
	topic    []byte
	armed    atomic.Bool
	gone     atomic.Bool
}

// enlist connects the last post to a PUB socket that does not listen yet.
func (k *link) enlist() (*lastPost, error) {
	near, _ := net.Pipe()
	p := &lastPost{Conn: near, topic: make([]byte, 32)}
	rand.Read(p.topic)
	greeting := make([]byte, 64)
	copy(greeting, "\xff\x00\x00\x00\x00\x00\x00\x00\x00\x7f\x03\x00NULL")
	ready := "\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"
	p.script = append(append(greeting, flagCommand, byte(len(ready))), ready...)
	p.script = append(append(p.script, 0, byte(1+len(p.topic)), 1), p.topic...) // 1: subscribe

	k.wire = &tap{raw: p, conn: p, fail: func(error) {}, closed: func() {}}
	ep, forget := prepare(k)
	defer forget()
	if err := k.sock.Dial(ep); err != nil {
		return nil, err
	}
	// The subscription is read by another goroutine.
	for until := time.Now().Add(mqsock.HandshakeTime); !slices.Contains(k.sock.(zmq4.Topics).Topics(), string(p.topic)); {
		if time.Now().After(until) {
			return nil, errors.New("a PUB socket does not take a subscription")
		}
		time.Sleep(10 * time.Microsecond)
	}
	p.armed.Store(true)
	return p, nil
}

// Read gives the library the handshake and the subscription, and then nothing until Close.
func (p *lastPost) Read(b []byte) (int, error) {
	if len(p.script) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.script)
	p.script = p.script[n:]
	return n, nil
}

// Write takes the library's part of the handshake, and later ends the goroutine that calls it.
func (p *lastPost) Write(b []byte) (int, error) {
	if p.armed.Load() {
		p.gone.Store(true)
		runtime.Goexit()
	}
	return len(b), nil
}

func (p *lastPost) isGone() bool { return p.gone.Load() }
