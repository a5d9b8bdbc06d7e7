//go:build unix

package cli

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openNonblock lets opening a FIFO that nobody reads fail instead of wait.
const openNonblock = unix.O_NONBLOCK

// noReader tells whether opening failed for want of a reader.
func noReader(name string, err error) bool {
	if !errors.Is(err, unix.ENXIO) {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// fileSink writes to a descriptor without ever waiting in a write: it asks first whether there is room.
type fileSink struct {
	f     *os.File
	own   bool // to be closed
	plain bool // a regular file, which always has room
}

func newFileSink(f *os.File, own bool) fileSink {
	info, err := f.Stat()
	return fileSink{f, own, err == nil && info.Mode().IsRegular()}
}

// roomAsked is how much room poll promises in a pipe: POSIX has 512 at least, Linux a page. A write of more could wait.
const roomAsked = 512

func (s fileSink) write(b []byte, within time.Duration) (n int, err error) {
	if s.plain {
		return s.f.Write(b)
	}
	raw, err := s.f.SyscallConn()
	if err != nil {
		return 0, err
	}
	deadline := time.Now().Add(within)
	// Control and not Write: that one would wait in the runtime for as long as it takes.
	cerr := raw.Control(func(fd uintptr) {
		for n < len(b) {
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			ready, perr := unix.Poll(fds, int(max(time.Until(deadline), 0)/time.Millisecond))
			switch {
			case perr == unix.EINTR:
				continue
			case perr != nil:
				err = perr
				return
			case ready == 0:
				return
			}
			// Not by the file: on descriptors 1 and 2 that would end the process where the reader is gone.
			m, werr := syscall.Write(int(fd), b[n:min(n+roomAsked, len(b))])
			switch {
			case werr == unix.EAGAIN:
				if time.Now().After(deadline) {
					return
				}
			case werr == unix.EINTR:
			case werr == unix.EPIPE:
				err = errors.New("its reader is gone")
				return
			case werr != nil:
				err = werr
				return
			default:
				n += m
			}
		}
	})
	return n, errors.Join(err, cerr)
}

func (s fileSink) Close() error {
	if !s.own {
		return nil
	}
	return s.f.Close()
}
