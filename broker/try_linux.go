package broker

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// errTimeout is what a read past its deadline gives.
var errTimeout = os.ErrDeadlineExceeded

// try reads from a connection, waiting in the runtime's poller, and writes to it without waiting. Where it had to wait for what
// it reads, the calls for that go past the scheduler: an ordinary one wakes the runtime's monitor thread where that sleeps,
// which it does whenever nothing is to be forwarded, so that every message would cost a futex and a few switches of threads on
// the router's CPU. Where there is no waiting, calls are ordinary: the monitor is what then lets others have their turn. The
// functions are made once, so that a call allocates nothing.
type try struct {
	raw           syscall.RawConn
	readF, writeF func(fd uintptr) bool
	in, out       []byte
	read, written int
	readE, writeE syscall.Errno
	waited        bool // the last read
	ordinary      bool // the next one
	past          bool // the write goes past the scheduler
}

// rawLimit is up to how many bytes a call goes past the scheduler: its processor is not given to others meanwhile.
const rawLimit = 256 << 10

func (t *try) init(c net.Conn) (err error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return fmt.Errorf("%T has no descriptor", c)
	}
	if t.raw, err = s.SyscallConn(); err != nil {
		return err
	}
	t.readF = func(fd uintptr) bool {
		t.read, t.readE = call(syscall.SYS_READ, fd, t.in, !t.ordinary)
		if t.readE != syscall.EAGAIN {
			return true
		}
		t.waited, t.ordinary = true, false
		return false
	}
	t.writeF = func(fd uintptr) bool {
		t.written, t.writeE = call(syscall.SYS_WRITE, fd, t.out, t.past)
		return true
	}
	return nil
}

// call is one system call that does not sleep, since the socket is non-blocking.
func call(number, fd uintptr, b []byte, past bool) (int, syscall.Errno) {
	for {
		p := unsafe.Pointer(unsafe.SliceData(b))
		var n uintptr
		var errno syscall.Errno
		if past && len(b) <= rawLimit {
			n, _, errno = syscall.RawSyscall(number, fd, uintptr(p), uintptr(len(b)))
		} else {
			n, _, errno = syscall.Syscall(number, fd, uintptr(p), uintptr(len(b)))
		}
		runtime.KeepAlive(b)
		switch errno {
		case 0:
			return int(n), 0
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}

// receive reads what is there, and waits if there is nothing.
func (t *try) receive(b []byte) (int, error) {
	t.in, t.waited = b, false
	err := t.raw.Read(t.readF)
	t.in, t.ordinary = nil, !t.waited
	switch {
	case err != nil:
		return 0, err
	case t.readE != 0:
		return 0, os.NewSyscallError("read", t.readE)
	case t.read == 0:
		return 0, io.EOF
	}
	return t.read, nil
}

// send writes as much of b as there is room for; from is where that was read, if it was.
func (t *try) send(from *try, b []byte) (int, error) {
	t.out, t.past = b, from != nil && from.waited
	err := t.raw.Write(t.writeF)
	t.out = nil
	switch {
	case err != nil:
		return 0, err
	case t.writeE == syscall.EAGAIN:
		return 0, nil
	case t.writeE != 0:
		return 0, os.NewSyscallError("write", t.writeE)
	}
	return t.written, nil
}
