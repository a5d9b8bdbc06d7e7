//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package pipe

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"msgbench/transports"
)

// acceptPause is how often Accept looks for a peer. It is not on anybody's clock.
const acceptPause = time.Millisecond

// listener holds the FIFOs of one endpoint until a peer has opened both.
type listener struct {
	o    transports.Options
	path string
	end  chan struct{} // closed by Close

	mu sync.Mutex
	up int // reading end; -1 once it is the connection's, or closed
}

func (l *listener) Endpoint() string { return l.path }

// Accept waits for the peer's hello, which says that it has both FIFOs open, answers it and unlinks them.
func (l *listener) Accept() (transports.Conn, error) {
	for {
		l.mu.Lock()
		if l.up < 0 {
			l.mu.Unlock()
			return nil, fmt.Errorf("pipe: accept: %w", transports.ErrClosed)
		}
		// Under the lock, so that Close can't close the number meanwhile; and so only for a short time.
		fds := []unix.PollFd{{Fd: int32(l.up), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		if n > 0 {
			c, err := l.accept()
			l.mu.Unlock()
			return c, err
		}
		l.mu.Unlock()
		if err != nil && err != unix.EINTR {
			return nil, os.NewSyscallError("pipe: poll", err)
		}
		select {
		case <-l.end:
		case <-time.After(acceptPause):
		}
	}
}

// accept takes the peer that has written its hello. The listener is used up, whether the peer is good or not.
func (l *listener) accept() (transports.Conn, error) {
	r := l.up
	l.up = -1
	defer l.unlink()
	if err := readHello(r); err != nil {
		unix.Close(r)
		return nil, fmt.Errorf("pipe: accept: %w", err)
	}
	w, err := openFIFO(l.path+down, unix.O_WRONLY)
	if err != nil {
		unix.Close(r)
		return nil, err
	}
	// Before the answer: whoever has it may rely on the names being gone.
	l.unlink()
	if _, err := unix.Write(w, []byte(hello)); err != nil {
		unix.Close(r)
		unix.Close(w)
		return nil, fmt.Errorf("pipe: accept: write: %w", err)
	}
	return newConn(r, w, l.o)
}

// Close ends Accept and removes the FIFOs.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.end:
		return nil
	default:
	}
	close(l.end)
	if l.up >= 0 {
		unix.Close(l.up)
		l.up = -1
		l.unlink()
	}
	return nil
}

func (l *listener) unlink() {
	os.Remove(l.path + up)
	os.Remove(l.path + down)
}
