package rawfd

import (
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"msgbench/transports"
)

// WriteBoth writes a and then b, all of them, with one system call if there is room. A packet socket takes them as one
// packet. b may be empty.
func (f *FD) WriteBoth(a, b []byte) error {
	f.writing.Store(true)
	err := f.writeOpen(a, b)
	f.writing.Store(false)
	return err
}

func (f *FD) writeOpen(a, b []byte) error {
	var since time.Time
	// A message that a socket may not take at once sleeps there: Close can end that with shutdown.
	sleepInCall := f.socket && f.wait == transports.Block && len(a)+len(b) > rawLimit
	for {
		if f.closed.Load() {
			return transports.ErrClosed
		}
		n, errno := f.tryWrite(a, b, sleepInCall)
		switch {
		case errno == 0:
			if n == len(a)+len(b) {
				return nil
			}
			if n < len(a) {
				a = a[n:]
			} else {
				a, b = b[n-len(a):], nil
			}
			continue
		case errno == unix.EINTR:
			continue
		case f.closed.Load():
			return transports.ErrClosed // the error comes of it
		case errno != unix.EAGAIN:
			return os.NewSyscallError("write", errno)
		}
		if !f.spun(&since) {
			continue
		}
		if f.socket {
			sleepInCall = true
		} else {
			f.sleep(f.w, unix.POLLOUT)
		}
	}
}

// tryWrite is one system call. One to a socket sleeps there if block is set, one to a pipe if the pipe is in blocking mode.
func (f *FD) tryWrite(a, b []byte, block bool) (int, syscall.Errno) {
	raw := len(a)+len(b) <= rawLimit && !block && (f.socket || f.wait != transports.Block)
	p := unsafe.Pointer(unsafe.SliceData(a))
	fd, flags := uintptr(f.w), uintptr(unix.MSG_NOSIGNAL)
	if !block {
		flags |= unix.MSG_DONTWAIT
	}
	var n uintptr
	var errno syscall.Errno
	switch {
	case len(b) == 0 && f.socket && raw:
		n, _, errno = syscall.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(p), uintptr(len(a)), flags, 0, 0)
	case len(b) == 0 && f.socket:
		n, _, errno = syscall.Syscall6(unix.SYS_SENDTO, fd, uintptr(p), uintptr(len(a)), flags, 0, 0)
	case len(b) == 0 && raw:
		n, _, errno = syscall.RawSyscall(unix.SYS_WRITE, fd, uintptr(p), uintptr(len(a)))
	case len(b) == 0:
		n, _, errno = syscall.Syscall(unix.SYS_WRITE, fd, uintptr(p), uintptr(len(a)))
	default:
		f.iov[0].Base, f.iov[1].Base = (*byte)(p), unsafe.SliceData(b)
		f.iov[0].SetLen(len(a))
		f.iov[1].SetLen(len(b))
		if f.socket {
			f.hdr.SetIovlen(2)
			n, _, errno = syscall.Syscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&f.hdr)), flags)
		} else {
			n, _, errno = syscall.Syscall(unix.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&f.iov[0])), 2)
		}
		f.iov[0].Base, f.iov[1].Base = nil, nil // keeps nothing of the caller's
	}
	runtime.KeepAlive(a)
	return int(n), errno
}

// Dup returns a copy of the descriptor behind c for Socket. c can be closed then.
func Dup(c syscall.Conn) (fd int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	if e := raw.Control(func(p uintptr) { fd, err = unix.FcntlInt(p, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return -1, e
	}
	return fd, os.NewSyscallError("fcntl", err)
}

// SocketFact reads an integer option of the socket, for Facts.
func (f *FD) SocketFact(level, option int) int {
	v, err := unix.GetsockoptInt(f.w, level, option)
	if err != nil {
		return -1
	}
	return v
}
