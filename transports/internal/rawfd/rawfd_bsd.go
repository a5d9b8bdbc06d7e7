//go:build darwin || dragonfly || freebsd || netbsd || openbsd

// Package rawfd does I/O on descriptors of a pipe with system calls of the calling thread, past the Go runtime's poller,
// and still lets another goroutine end a blocked call.
package rawfd

import (
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"msgbench/transports"
)

// pollInterval is how soon a call that sleeps sees Close, in milliseconds.
const pollInterval = 20

// FD is one connection: the reading end of one pipe and the writing end of another. The runtime's poller is of no use
// for FIFOs on Darwin, where it does not report that the last writer has gone.
type FD struct {
	r, w             int
	closed           atomic.Bool
	reading, writing atomic.Bool
}

// Pipes returns the connection that reads from the pipe r and writes to the pipe w, which it owns from then on.
func Pipes(r, w int, _ transports.Wait) (*FD, error) {
	f := &FD{r: r, w: w}
	for _, fd := range []int{r, w} {
		if err := unix.SetNonblock(fd, true); err != nil {
			f.free()
			return nil, os.NewSyscallError("fcntl", err)
		}
	}
	return f, nil
}

// Closed tells whether Close was called.
func (f *FD) Closed() bool { return f.closed.Load() }

// Close ends blocked calls and closes the descriptors.
func (f *FD) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	for f.reading.Load() || f.writing.Load() {
		time.Sleep(time.Millisecond)
	}
	f.free()
	return nil
}

func (f *FD) free() {
	unix.Close(f.r)
	unix.Close(f.w)
}

// Read reads what is there into p, and waits if there is nothing. It returns io.EOF when the peer has closed.
func (f *FD) Read(p []byte) (int, error) {
	f.reading.Store(true)
	defer f.reading.Store(false)
	for !f.closed.Load() {
		n, err := unix.Read(f.r, p)
		switch {
		case err == nil && n == 0:
			return 0, io.EOF
		case err == nil:
			return n, nil
		case err == unix.EAGAIN:
			unix.Poll([]unix.PollFd{{Fd: int32(f.r), Events: unix.POLLIN}}, pollInterval)
		case err != unix.EINTR:
			return 0, os.NewSyscallError("read", err)
		}
	}
	return 0, transports.ErrClosed
}

// WriteBoth writes a and then b, all of them. b may be empty.
func (f *FD) WriteBoth(a, b []byte) error {
	f.writing.Store(true)
	defer f.writing.Store(false)
	for !f.closed.Load() {
		if len(a) == 0 {
			if a, b = b, nil; len(a) == 0 {
				return nil
			}
		}
		n, err := unix.Write(f.w, a)
		switch {
		case err == nil:
			a = a[n:]
		case err == unix.EAGAIN:
			unix.Poll([]unix.PollFd{{Fd: int32(f.w), Events: unix.POLLOUT}}, pollInterval)
		case err != unix.EINTR:
			return os.NewSyscallError("write", err)
		}
	}
	return transports.ErrClosed
}
