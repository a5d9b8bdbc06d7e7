package bench

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func interruptSignals() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
}

// handle is a pidfd: it means this process and no later one with its number.
type handle int

func openHandle(pid int) (handle, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	return handle(fd), err
}

func (h handle) close() { unix.Close(int(h)) }

// endBy waits for the process until the deadline, then kills it.
func (h handle) endBy(deadline time.Time) {
	defer h.close()
	for {
		left := time.Until(deadline)
		fds := []unix.PollFd{{Fd: int32(h), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(max(left, 0)/time.Millisecond))
		switch {
		case err == unix.EINTR:
		case n > 0:
			return
		case err != nil || left <= 0:
			// Fails only when it has ended by itself.
			_ = unix.PidfdSendSignal(int(h), unix.SIGKILL, nil, 0)
			return
		}
	}
}
