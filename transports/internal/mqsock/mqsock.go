// Package mqsock holds what the adapters of the message libraries (packages zmq and nng) share. Both hand the library a
// connection of their own making instead of letting it open one: only so can they see a peer's end, bound a frame, close
// what the library leaves open, and read the socket's settings back.
package mqsock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"msgbench/transports"
)

// HandshakeTime bounds how long a peer may take to greet. A client that connects and stays silent is dropped after it.
const HandshakeTime = 10 * time.Second

// The kinds of endpoint, which are the schemes of the libraries' own addresses, so that a C program can use them as is.
const (
	TCP = "tcp"
	IPC = "ipc"
)

// Listen opens a socket that only this run can know: a port chosen by the system, of the address of the options, or a Unix
// socket of a new name in their folder. The address is in the form that all ZeroMQ and Scalability Protocols libraries take. Closing the listener
// removes the Unix socket.
func Listen(kind string, o transports.Options) (net.Listener, string, error) {
	if kind == TCP {
		l, err := net.Listen("tcp4", o.ListenOn())
		if err != nil {
			return nil, "", err
		}
		return l, TCP + "://" + l.Addr().String(), nil
	}
	// The name comes from a file that the system made for us alone; bind wants to make the socket itself.
	f, err := os.CreateTemp(o.Dir, "mq*")
	if err != nil {
		return nil, "", err
	}
	defer os.Remove(f.Name())
	f.Close()
	path := f.Name() + ".s"
	if path, err = filepath.Abs(path); err != nil {
		return nil, "", err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, "", fmt.Errorf("ipc socket %q (a path has to be shorter than 104 B): %w", path, err)
	}
	return l, IPC + "://" + path, nil
}

// Dial connects to an address as Listen returned it. nagle leaves TCP_NODELAY off.
func Dial(ctx context.Context, kind, address string, nagle bool) (net.Conn, error) {
	at, ok := strings.CutPrefix(address, kind+"://")
	if !ok {
		return nil, fmt.Errorf("endpoint %q: want %s://…", address, kind)
	}
	network := "tcp"
	if kind == IPC {
		network = "unix"
	}
	c, err := (&net.Dialer{Timeout: HandshakeTime}).DialContext(ctx, network, at)
	if err != nil {
		return nil, err
	}
	return c, SetNagle(c, nagle)
}

// SetNagle leaves TCP_NODELAY off if on is true. Go sets TCP_NODELAY on each new connection, so there is else nothing to do.
func SetNagle(c net.Conn, on bool) error {
	if t, ok := c.(*net.TCPConn); ok && on {
		return t.SetNoDelay(false)
	}
	return nil
}

// Facts are the settings of a socket as the system tells them: sndbuf and rcvbuf in bytes, nodelay for TCP.
func Facts(c net.Conn, facts map[string]string) {
	for _, o := range socketOptions {
		if _, isTCP := c.(*net.TCPConn); o.tcpOnly && !isTCP {
			continue
		}
		v, err := getsockopt(c, o.level, o.option)
		if err != nil {
			continue
		}
		if o.flag {
			facts[o.name] = map[bool]string{false: "off", true: "on"}[v != 0]
		} else {
			facts[o.name] = strconv.Itoa(v)
		}
	}
}

// sockopt is a setting that Facts reads.
type sockopt struct {
	name          string
	level, option int
	tcpOnly, flag bool
}

// SendBuffer is the size of the socket's send buffer in bytes as the kernel counts them, or 0 if it doesn't say.
func SendBuffer(c net.Conn) int {
	n, err := getsockopt(c, sendBuffer.level, sendBuffer.option)
	if err != nil {
		return 0
	}
	return n
}

// Ended translates a failed read. A peer that closed, or was killed, gives io.EOF between messages and
// io.ErrUnexpectedEOF inside one; a close on this side gives ErrClosed.
func Ended(err error, inside bool) error {
	switch {
	case errors.Is(err, net.ErrClosed):
		return transports.ErrClosed
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		// A reset is a peer that closed, or died, with messages of ours unread.
		if inside {
			return io.ErrUnexpectedEOF
		}
		return io.EOF
	}
	return err
}

// Hangup closes a connection: first the direction to the peer, so that what was written goes out before the end.
func Hangup(c net.Conn) error {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		w.CloseWrite()
	}
	return c.Close()
}
