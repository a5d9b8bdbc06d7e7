package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"msgbench/transports"
)

// The handshake on the stream socket: the listener sends helloBytes with the descriptor of the segment, the dialer maps
// it and answers with helloBytes. Both are magic (u64), version (u32) and zero (u32).
const (
	helloBytes       = 16
	handshakeTimeout = 10 * time.Second
	maxSocketPath    = 100 // bytes; sun_path takes 107
)

// Directions: the dialer sends in 0, the listener in 1.
const (
	fromDialer   = 0
	fromListener = 1
)

func (transport) Probe() error {
	s, fd, err := createSegment(newGeometry(0, 1))
	if err != nil {
		return err
	}
	s.unmap()
	return unix.Close(fd)
}

func (t transport) Listen(o transports.Options) (transports.Listener, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return nil, err
	}
	if o.Dir == "" {
		return nil, errors.New("shm: no folder for the socket in the options")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("shm: %w", err)
	}
	for range 100 {
		l := &listener{o: o, path: filepath.Join(dir, "shm-"+strconv.FormatInt(time.Now().UnixNano(), 36))}
		err = withShortPath(l.path, func(p string) (err error) {
			l.sock, err = net.ListenUnix("unix", &net.UnixAddr{Name: p, Net: "unix"})
			return err
		})
		if err == nil {
			l.sock.SetUnlinkOnClose(false) // by its full path, in unlink
			return l, nil
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			break
		}
	}
	return nil, fmt.Errorf("shm: listen: %w", err)
}

type listener struct {
	o    transports.Options
	path string
	sock *net.UnixListener

	mu     sync.Mutex
	peer   *net.UnixConn // while its handshake is under way
	closed bool
}

var _ transports.Listener = (*listener)(nil)

// Endpoint is the path of the socket, escaped so that it is one word whatever the folder is called.
func (l *listener) Endpoint() string { return (&url.URL{Path: l.path}).EscapedPath() }

func (l *listener) Accept() (transports.Conn, error) {
	c, err := l.accept()
	if cerr := l.Close(); err != nil || cerr != nil {
		if c != nil {
			c.Close()
		}
		return nil, fmt.Errorf("shm: accept: %w", errors.Join(err, cerr))
	}
	return c, nil
}

func (l *listener) accept() (*conn, error) {
	sock, err := l.sock.AcceptUnix()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		if err == nil {
			sock.Close()
		}
		return nil, transports.ErrClosed
	}
	l.peer = sock
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	seg, err := offer(sock, l.o)
	l.mu.Lock()
	closed := l.closed
	l.peer = nil
	l.mu.Unlock()
	if err != nil {
		sock.Close()
		if closed {
			err = transports.ErrClosed
		}
		return nil, err
	}
	return newConn(seg, sock, fromListener, l.o.Wait), nil
}

func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.peer != nil {
		l.peer.Close()
	}
	err := l.sock.Close()
	if rerr := os.Remove(l.path); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// offer makes the segment, sends it and waits until the peer has mapped it.
func offer(sock *net.UnixConn, o transports.Options) (segment, error) {
	seg, fd, err := createSegment(newGeometry(o.MaxMessage, o.Depth))
	if err != nil {
		return segment{}, err
	}
	defer unix.Close(fd)
	_ = sock.SetDeadline(time.Now().Add(handshakeTimeout))
	_, _, err = sock.WriteMsgUnix(hello(), unix.UnixRights(fd), nil)
	if err == nil {
		var answer [helloBytes]byte
		if _, err = readFull(sock, answer[:]); err == nil {
			err = checkHello(answer[:])
		}
	}
	if err != nil {
		seg.unmap()
		return segment{}, err
	}
	return seg, sock.SetDeadline(time.Time{})
}

func (t transport) Dial(endpoint string, o transports.Options) (transports.Conn, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return nil, err
	}
	path, err := url.PathUnescape(endpoint)
	if err != nil {
		return nil, fmt.Errorf("shm: endpoint %q: %w", endpoint, err)
	}
	var sock *net.UnixConn
	err = withShortPath(path, func(p string) (err error) {
		sock, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: p, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("shm: dial: %w", err)
	}
	seg, err := join(sock, o)
	if err != nil {
		sock.Close()
		return nil, fmt.Errorf("shm: dial: %w", err)
	}
	return newConn(seg, sock, fromDialer, o.Wait), nil
}

// join takes the segment that the listener offers.
func join(sock *net.UnixConn, o transports.Options) (segment, error) {
	_ = sock.SetDeadline(time.Now().Add(handshakeTimeout))
	fd, err := receiveSegment(sock)
	if err != nil {
		return segment{}, err
	}
	defer unix.Close(fd)
	seg, err := openSegment(fd)
	if err != nil {
		return segment{}, err
	}
	if seg.geo.maxMessage < uint64(o.MaxMessage) {
		err = fmt.Errorf("messages of %d B wanted, the listener has room for %d B", o.MaxMessage, seg.geo.maxMessage)
	}
	if err == nil {
		_, err = sock.Write(hello())
	}
	if err != nil {
		seg.unmap()
		return segment{}, err
	}
	return seg, sock.SetDeadline(time.Time{})
}

func hello() []byte {
	b := make([]byte, helloBytes)
	binary.NativeEndian.PutUint64(b, magic)
	binary.NativeEndian.PutUint32(b[8:], version)
	return b
}

func checkHello(b []byte) error {
	if m, v := binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint32(b[8:]); m != magic || v != version {
		return fmt.Errorf("hello %#x, version %d: %w", m, v, transports.ErrFrame)
	}
	return nil
}
