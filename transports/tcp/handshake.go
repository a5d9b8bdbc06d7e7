package tcp

import (
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"msgbench/transports"
)

// magic begins what each side says first. docs/wire.md has the handshake.
const magic = "msgbtcp1"

// strangerTimeout bounds how long an accepted connection may take to say who it is.
const strangerTimeout = 5 * time.Second

// token tells our peer from whatever else connects to a port, or listens on it after us. The dialing side shows the first
// half, the listening side answers with the second.
type token [16]byte

// call is the dialing side's handshake.
func (t token) call(c net.Conn) error {
	if _, err := c.Write(append([]byte(magic), t[:8]...)); err != nil {
		return err
	}
	return expect(c, t[8:])
}

// answer is the listening side's handshake.
func (t token) answer(c net.Conn) error {
	if err := expect(c, t[:8]); err != nil {
		return err
	}
	_, err := c.Write(append([]byte(magic), t[8:]...))
	return err
}

// expect reads magic and half of a token, and no byte more.
func expect(c net.Conn, half []byte) error {
	var got [len(magic) + 8]byte
	if _, err := io.ReadFull(c, got[:]); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	if string(got[:len(magic)]) != magic || subtle.ConstantTimeCompare(got[len(magic):], half) != 1 {
		return fmt.Errorf("handshake: not our peer: %w", transports.ErrFrame)
	}
	return nil
}

// listener accepts until one connection has shown the token. Strangers are served side by side, so that one that says
// nothing holds up nobody, and are dropped.
type listener struct {
	l   *net.TCPListener
	tok token
	o   transports.Options

	peers   chan net.Conn // the first peer
	wg      sync.WaitGroup
	mu      sync.Mutex
	open    map[net.Conn]bool // in a handshake
	stopped bool
}

func newListener(l *net.TCPListener, tok token, o transports.Options) *listener {
	return &listener{l: l, tok: tok, o: o, peers: make(chan net.Conn, 1), open: map[net.Conn]bool{}}
}

func (l *listener) Endpoint() string { return l.l.Addr().String() + "/" + hex.EncodeToString(l.tok[:]) }

// Accept waits for the peer that knows the token.
func (l *listener) Accept() (transports.Conn, error) {
	for {
		c, err := l.l.Accept()
		if err != nil {
			l.stop()
			l.wg.Wait() // a peer may have come just before
			select {
			case c := <-l.peers:
				return newConn(c.(*net.TCPConn), l.o)
			default:
			}
			if errors.Is(err, net.ErrClosed) {
				err = transports.ErrClosed
			}
			return nil, fmt.Errorf("tcp: accept: %w", err)
		}
		l.mu.Lock()
		l.open[c] = true
		if l.stopped {
			c.Close() // greet will fail at once
		}
		l.mu.Unlock()
		l.wg.Go(func() { l.greet(c) })
	}
}

// greet hands c over as the peer, or closes it. The first peer ends the listener.
func (l *listener) greet(c net.Conn) {
	c.SetDeadline(time.Now().Add(strangerTimeout))
	err := l.tok.answer(c)
	l.mu.Lock()
	delete(l.open, c)
	l.mu.Unlock()
	if err == nil {
		c.SetDeadline(time.Time{})
		select {
		case l.peers <- c:
			l.stop()
			return
		default: // a second one with the token
		}
	}
	c.Close()
}

// stop closes the listening socket and all connections that have not shown the token.
func (l *listener) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	l.stopped = true
	l.l.Close()
	for c := range l.open {
		c.Close()
	}
}

// Close ends Accept.
func (l *listener) Close() error {
	l.stop()
	return nil
}
