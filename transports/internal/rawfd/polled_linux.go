package rawfd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"msgbench/transports"
)

// Polled is a stream socket that waits in the runtime's poller, so that no thread is held. Where it had to wait for what it
// reads, that call and the process's next write go past the scheduler. An ordinary call tells the scheduler that it begins,
// which wakes the runtime's monitor thread where that sleeps; and in a process that waits for each message it always does. That
// is a futex, a switch to the monitor and its next sleeps for every call, on the CPU that has the next message to handle. Where
// there is no waiting, calls are ordinary: the monitor is what then lets others have their turn.
type Polled struct {
	c      net.Conn
	raw    syscall.RawConn
	closed atomic.Bool

	// Of the one reader and of the one writer. The functions are made once, so that a call allocates nothing.
	read, write      func(fd uintptr) bool
	in, a, b         []byte
	n                int
	waited           bool // the current read
	busy             bool // the last read had not to wait
	past             bool // the write goes past the scheduler
	readErr, writeEr syscall.Errno
	iov              [2]unix.Iovec
	hdr              unix.Msghdr
}

// waitedLately: a read of any Polled has waited since the last write of any. Who answers may do that on another connection than he
// was asked on.
var waitedLately atomic.Bool

// pollLimit is up to how many bytes a call goes past the scheduler.
const pollLimit = 256 << 10

// NewPolled returns the stream of c, which it owns from then on. c is a connection of package net.
func NewPolled(c net.Conn) (*Polled, error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T has no descriptor", c)
	}
	p := &Polled{c: c}
	var err error
	if p.raw, err = s.SyscallConn(); err != nil {
		return nil, err
	}
	p.hdr.Iov = &p.iov[0]
	p.read, p.write = p.tryRead, p.tryWrite
	return p, nil
}

// Read reads what is there into b, and waits if there is nothing. It returns io.EOF when the peer has closed.
func (p *Polled) Read(b []byte) (int, error) {
	p.in, p.waited = b, false
	err := p.raw.Read(p.read)
	p.in, p.busy = nil, !p.waited
	if p.waited {
		if !waitedLately.Load() {
			waitedLately.Store(true)
		}
	}
	switch {
	case err != nil || p.closed.Load():
		return 0, p.local(err)
	case p.readErr != 0:
		return 0, os.NewSyscallError("read", p.readErr)
	case p.n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return p.n, nil
}

func (p *Polled) tryRead(fd uintptr) bool {
	for {
		b := unsafe.Pointer(unsafe.SliceData(p.in))
		var n uintptr
		if !p.busy && len(p.in) <= pollLimit {
			n, _, p.readErr = syscall.RawSyscall(unix.SYS_READ, fd, uintptr(b), uintptr(len(p.in)))
		} else {
			n, _, p.readErr = syscall.Syscall(unix.SYS_READ, fd, uintptr(b), uintptr(len(p.in)))
		}
		p.n = int(n)
		switch p.readErr {
		case unix.EINTR:
		case unix.EAGAIN:
			p.waited, p.busy = true, false
			return false
		default:
			return true
		}
	}
}

// WriteBoth writes a and then b, all of them, with one system call if there is room. b may be empty.
func (p *Polled) WriteBoth(a, b []byte) error {
	if p.closed.Load() {
		return transports.ErrClosed
	}
	p.a, p.b, p.writeEr = a, b, 0
	p.past = waitedLately.Load() && waitedLately.Swap(false) && len(a)+len(b) <= pollLimit
	err := p.raw.Write(p.write)
	p.a, p.b = nil, nil
	if err == nil && p.writeEr != 0 {
		err = os.NewSyscallError("write", p.writeEr)
	}
	if err != nil {
		return p.local(err)
	}
	return nil
}

func (p *Polled) tryWrite(fd uintptr) bool {
	for len(p.a)+len(p.b) > 0 {
		n, errno := p.send(fd)
		switch p.writeEr = errno; errno {
		case 0:
			if n < len(p.a) {
				p.a = p.a[n:]
			} else {
				p.a, p.b = p.b[n-len(p.a):], nil
			}
		case unix.EINTR:
		default:
			return errno != unix.EAGAIN
		}
	}
	return true
}

// send is one system call.
func (p *Polled) send(fd uintptr) (int, syscall.Errno) {
	const flags = unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT
	a := unsafe.Pointer(unsafe.SliceData(p.a))
	var n uintptr
	var errno syscall.Errno
	switch {
	case len(p.b) == 0 && p.past:
		n, _, errno = syscall.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(a), uintptr(len(p.a)), flags, 0, 0)
	case len(p.b) == 0:
		n, _, errno = syscall.Syscall6(unix.SYS_SENDTO, fd, uintptr(a), uintptr(len(p.a)), flags, 0, 0)
	default:
		p.iov[0].Base, p.iov[1].Base = (*byte)(a), unsafe.SliceData(p.b)
		p.iov[0].SetLen(len(p.a))
		p.iov[1].SetLen(len(p.b))
		p.hdr.SetIovlen(2)
		n, _, errno = syscall.Syscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&p.hdr)), flags)
		p.iov[0].Base, p.iov[1].Base = nil, nil // keeps nothing of the caller's
	}
	runtime.KeepAlive(p.a)
	return int(n), errno
}

// Closed tells whether Close was called.
func (p *Polled) Closed() bool { return p.closed.Load() }

// Close ends blocked calls and closes the connection.
func (p *Polled) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	return p.c.Close()
}

// SocketFact reads an integer option of the socket, for Facts; -1 if it can't.
func (p *Polled) SocketFact(level, option int) int {
	v := -1
	if err := p.raw.Control(func(fd uintptr) {
		if n, err := unix.GetsockoptInt(int(fd), level, option); err == nil {
			v = n
		}
	}); err != nil {
		return -1
	}
	return v
}

// local turns the error of a call that our Close ended into the contract's.
func (p *Polled) local(err error) error {
	if p.closed.Load() || errors.Is(err, net.ErrClosed) {
		return transports.ErrClosed
	}
	return err
}
