// Package rawfd does I/O on descriptors of a pipe or socket with system calls of the calling thread, past the Go
// runtime's poller, and still lets another goroutine end a blocked call. Callers should lock their thread.
package rawfd

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"msgbench/transports"
)

// hybridSpin is how long a Hybrid call spins before it sleeps: a few times a round trip of the slowest transport here.
const hybridSpin = 50 * time.Microsecond

// rawLimit is up to how many bytes a write that can't sleep goes past the scheduler. Its processor is not given to others
// meanwhile, so it must be short.
const rawLimit = 16 << 10

// FD is one connection: a socket, or the reading end of one pipe and the writing end of another.
//
// A descriptor number must not be closed under a call that uses it, or the call may hit a stranger that got the number.
// So each direction says when it is in a system call, and Close waits until neither is. That is two uncontended
// exchanges a call, some nanoseconds.
type FD struct {
	r, w   int
	socket bool
	wait   transports.Wait
	wake   int // eventfd, readable once closed

	closed           atomic.Bool
	reading, writing atomic.Bool
	iov              [2]unix.Iovec // of the one writer
	hdr              unix.Msghdr
}

// Socket returns the connection of a connected stream or packet socket, which it owns from then on.
func Socket(fd int, wait transports.Wait) (*FD, error) { return newFD(fd, fd, true, wait) }

// Pipes returns the connection that reads from the pipe r and writes to the pipe w, which it owns from then on.
func Pipes(r, w int, wait transports.Wait) (*FD, error) { return newFD(r, w, false, wait) }

func newFD(r, w int, socket bool, wait transports.Wait) (*FD, error) {
	f := &FD{r: r, w: w, socket: socket, wait: wait}
	var err error
	if f.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		f.wake = -1
		f.free()
		return nil, os.NewSyscallError("eventfd", err)
	}
	// Sockets stay in blocking mode, since a flag makes a single call non-blocking. Pipes have no such flag.
	if err := f.setNonblock(!socket && wait != transports.Block); err != nil {
		f.free()
		return nil, os.NewSyscallError("fcntl", err)
	}
	f.hdr.Iov = &f.iov[0]
	return f, nil
}

// Closed tells whether Close was called.
func (f *FD) Closed() bool { return f.closed.Load() }

func (f *FD) setNonblock(on bool) error {
	return errors.Join(unix.SetNonblock(f.r, on), unix.SetNonblock(f.w, on))
}

// Close ends blocked calls and closes the descriptors.
func (f *FD) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	one := [8]byte{1}
	unix.Write(f.wake, one[:])
	if f.socket {
		unix.Shutdown(f.r, unix.SHUT_RDWR)
	} else {
		f.setNonblock(true)
	}
	for pause := time.Microsecond; f.reading.Load() || f.writing.Load(); pause = min(2*pause, time.Millisecond) {
		if !f.socket && f.wait == transports.Block {
			interruptThreads()
		}
		time.Sleep(pause)
	}
	f.free()
	return nil
}

// interruptThreads makes system calls of all threads of this process begin again, since a pipe has no shutdown. A call
// that slept in a pipe then finds it non-blocking, and returns. The signal is the one with which the Go runtime preempts
// its threads: it expects it at any time and any number of times. (Data put into the pipe would also wake a reader, but
// nothing but room wakes a writer; and writes that never sleep but poll are up to twice as slow once the pipe is full.)
func interruptThreads() {
	entries, _ := os.ReadDir("/proc/self/task")
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
		}
	}
}

func (f *FD) free() {
	unix.Close(f.r)
	if f.w != f.r {
		unix.Close(f.w)
	}
	if f.wake >= 0 {
		unix.Close(f.wake)
	}
}

// Read reads what is there into p, and waits if there is nothing. It returns io.EOF when the peer has closed.
func (f *FD) Read(p []byte) (int, error) { return f.read(p, 0) }

// ReadPacket is Read for a packet socket. The result is the length of the packet, even if p was too short for it.
func (f *FD) ReadPacket(p []byte) (int, error) { return f.read(p, unix.MSG_TRUNC) }

func (f *FD) read(p []byte, flags uintptr) (int, error) {
	f.reading.Store(true)
	n, err := f.readOpen(p, flags)
	f.reading.Store(false)
	return n, err
}

func (f *FD) readOpen(p []byte, flags uintptr) (int, error) {
	var since time.Time
	for {
		// After reading was set, so that Close either sees it or is seen here.
		if f.closed.Load() {
			return 0, transports.ErrClosed
		}
		n, errno := f.tryRead(p, flags)
		switch {
		case f.closed.Load():
			return 0, transports.ErrClosed
		case errno == 0 && n == 0:
			return 0, io.EOF
		case errno == 0:
			return n, nil
		case errno == unix.EINTR:
			continue
		case errno == unix.ECONNRESET && flags == unix.MSG_TRUNC:
			// The peer closed without having read all of ours. The kernel says so once, before what the peer had sent,
			// which is still there.
			continue
		case errno != unix.EAGAIN:
			return 0, os.NewSyscallError("read", errno)
		}
		if f.spun(&since) {
			f.sleep(f.r, unix.POLLIN)
		}
	}
}

// tryRead is one system call: the one that sleeps for Block, else one that doesn't.
func (f *FD) tryRead(p []byte, flags uintptr) (int, syscall.Errno) {
	b, size := unsafe.Pointer(unsafe.SliceData(p)), uintptr(len(p))
	var n uintptr
	var errno syscall.Errno
	switch {
	case f.wait == transports.Block && f.socket:
		n, _, errno = syscall.Syscall6(unix.SYS_RECVFROM, uintptr(f.r), uintptr(b), size, flags, 0, 0)
	case f.wait == transports.Block:
		n, _, errno = syscall.Syscall(unix.SYS_READ, uintptr(f.r), uintptr(b), size)
	case f.socket:
		n, _, errno = syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(f.r), uintptr(b), size, flags|unix.MSG_DONTWAIT, 0, 0)
	default:
		n, _, errno = syscall.RawSyscall(unix.SYS_READ, uintptr(f.r), uintptr(b), size)
	}
	runtime.KeepAlive(p)
	return int(n), errno
}

// spun tells whether a call that found nothing to do should sleep now. It keeps the time of the first call in since.
func (f *FD) spun(since *time.Time) bool {
	switch {
	case f.wait == transports.Spin:
		return false
	case f.wait == transports.Block:
		return true
	case since.IsZero():
		*since = time.Now()
		return false
	}
	return time.Since(*since) > hybridSpin
}

// sleep waits until fd has what is asked for, has lost its peer, or is closed on this side.
func (f *FD) sleep(fd int, events int16) {
	fds := [2]unix.PollFd{{Fd: int32(fd), Events: events}, {Fd: int32(f.wake), Events: unix.POLLIN}}
	unix.Poll(fds[:], -1)
}
