package broker

import "golang.org/x/sys/unix"

// hungUp tells whether the other side has closed the connection, even if there is more to read.
func (t *try) hungUp() bool {
	gone := true // also where the descriptor is closed on this side
	_ = t.raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		gone = err == nil && n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone
}
