// Package uds moves messages through a Unix domain socket: packets (SOCK_SEQPACKET) on Linux, a framed stream elsewhere.
package uds

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"msgbench/transports"
)

// Transport is the Unix domain socket transport.
type Transport struct{}

var _ transports.Transport = (*Transport)(nil)

// New returns the Unix domain socket transport.
func New() transports.Transport { return &Transport{} }

// maxMessage is the size of the largest message, in bytes. Large messages go in pieces, so this bounds only memory.
const maxMessage = 64 << 20

// Listen makes a socket in o.Dir.
func (t *Transport) Listen(o transports.Options) (transports.Listener, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return nil, err
	}
	path := filepath.Join(o.Dir, "uds-"+rand.Text()[:12])
	if len(path) > maxPath {
		return nil, fmt.Errorf("uds: socket path %q has %d bytes, at most %d can be bound: choose a folder with a shorter name", path, len(path), maxPath)
	}
	if strings.ContainsAny(path, " \t\r\n") {
		return nil, fmt.Errorf("uds: folder %q has a space in its name: choose another", o.Dir)
	}
	l, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
	if err != nil {
		return nil, fmt.Errorf("uds: %w", err)
	}
	return &listener{l: l, path: path, o: o}, nil
}

// Dial connects to endpoint, which is the path of the socket.
func (t *Transport) Dial(endpoint string, o transports.Options) (transports.Conn, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return nil, err
	}
	c, err := net.DialUnix(network, nil, &net.UnixAddr{Name: endpoint, Net: network})
	if err != nil {
		return nil, fmt.Errorf("uds: %w", err)
	}
	return newConn(c, o)
}

type listener struct {
	l    *net.UnixListener
	path string
	o    transports.Options
}

func (l *listener) Endpoint() string { return l.path }

// Accept takes the first peer and unlinks the socket. The folder is private, so nobody else knows the path.
func (l *listener) Accept() (transports.Conn, error) {
	c, err := l.l.AcceptUnix()
	if err != nil {
		if errors.Is(err, net.ErrClosed) {
			err = transports.ErrClosed
		}
		return nil, fmt.Errorf("uds: accept: %w", err)
	}
	l.Close()
	return newConn(c, l.o)
}

// Close ends Accept and unlinks the socket.
func (l *listener) Close() error {
	if err := l.l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("uds: %w", err)
	}
	return nil
}
