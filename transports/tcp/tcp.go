// Package tcp moves messages through a TCP connection: over the loopback interface, unless the options name another address.
package tcp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"time"

	"msgbench/transports"
)

// Transport is the TCP transport.
type Transport struct{}

var _ transports.Transport = (*Transport)(nil)

// New returns the TCP transport.
func New() transports.Transport { return &Transport{} }

// maxMessage is the size of the largest message, in bytes. The stream has no limit, so this bounds only memory.
const maxMessage = 64 << 20

// dialTimeout bounds connecting and the handshake.
const dialTimeout = 10 * time.Second

// Listen listens on a free port of the address of the options.
func (t *Transport) Listen(o transports.Options) (transports.Listener, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return nil, err
	}
	var tok token
	if _, err := rand.Read(tok[:]); err != nil {
		return nil, fmt.Errorf("tcp: random token: %w", err)
	}
	l, err := net.Listen("tcp4", o.ListenOn())
	if err != nil {
		return nil, fmt.Errorf("tcp: %w", err)
	}
	return newListener(l.(*net.TCPListener), tok, o), nil
}

// Dial connects to endpoint, which is address:port/token.
func (t *Transport) Dial(endpoint string, o transports.Options) (transports.Conn, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return nil, err
	}
	addr, text, _ := strings.Cut(endpoint, "/")
	var tok token
	if n, err := hex.Decode(tok[:], []byte(text)); err != nil || n != len(tok) {
		return nil, fmt.Errorf("tcp: endpoint %q is not address:port/token with %d hex digits", endpoint, 2*len(tok))
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	d := net.Dialer{KeepAlive: -1}
	c, err := d.DialContext(ctx, "tcp4", addr)
	if err != nil {
		return nil, fmt.Errorf("tcp: %w", err)
	}
	c.SetDeadline(time.Now().Add(dialTimeout))
	if err := tok.call(c); err != nil {
		c.Close()
		return nil, fmt.Errorf("tcp: dial %s: %w", addr, err)
	}
	c.SetDeadline(time.Time{})
	return newConn(c.(*net.TCPConn), o)
}
