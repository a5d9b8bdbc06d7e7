//go:build unix

package broker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// errTimeout is what a read past its deadline gives.
var errTimeout = os.ErrDeadlineExceeded

// try writes to a connection without waiting. The callback is made once, so that a write allocates nothing.
type try struct {
	raw syscall.RawConn
	f   func(fd uintptr) bool
	b   []byte
	n   int
	err error
}

func (t *try) init(c net.Conn) (err error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return fmt.Errorf("%T has no descriptor", c)
	}
	if t.raw, err = s.SyscallConn(); err != nil {
		return err
	}
	t.f = func(fd uintptr) bool {
		for {
			t.n, t.err = syscall.Write(int(fd), t.b)
			if t.err != syscall.EINTR {
				return true
			}
		}
	}
	return nil
}

// write writes as much of b as there is room for.
func (t *try) write(b []byte) (int, error) {
	t.b = b
	err := t.raw.Write(t.f)
	t.b = nil
	if err == nil {
		err = t.err
	}
	if errors.Is(err, syscall.EAGAIN) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return max(t.n, 0), nil
}
