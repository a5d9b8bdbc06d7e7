package pipe

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"msgbench/transports"
)

// Info tells what pipes can do.
func (*Transport) Info() transports.Info {
	return transports.Info{
		Name:       "pipe",
		Summary:    "two named pipes (FIFO), blocking or polled system calls",
		Waits:      []transports.Wait{transports.Block, transports.Spin, transports.Hybrid},
		MaxMessage: maxMessage,
		LockThread: true,
		Buffers:    true,
	}
}

// pageSize is the size of one slot of a pipe, in bytes.
var pageSize = unix.Getpagesize()

// capacity is the size of the smaller of two pipes, in bytes. The system may give less than the usual 64 KiB to users
// that have many.
func capacity(r, w int) int {
	size := 1 << 30
	for _, fd := range []int{r, w} {
		n, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
		if err != nil {
			n = pageSize
		}
		size = min(size, n)
	}
	return size
}

// setCapacity asks for pipes of that many bytes; the system makes it a power of two of at least a page.
func setCapacity(r, w, bytes int) error {
	for _, fd := range []int{r, w} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, bytes); err != nil {
			return fmt.Errorf("pipe: buffer of %d B: %w", bytes, err)
		}
	}
	return nil
}

// inFlight is how many frames of size bytes a pipe surely takes. The kernel counts pages, not bytes: a write adds to the
// last page only if its odd bytes (size modulo a page) fit there whole, else it begins a new page; and a page counts until
// its last byte is read. So a page is filled by as many frames as fit whole, and one page may be taken by the rest of
// what is being read.
func inFlight(size, capacity int) int {
	pages := max(1, capacity/pageSize-1)
	if size <= pageSize {
		return pages * (pageSize / size)
	}
	return pages / ((size + pageSize - 1) / pageSize)
}

func facts(r, w int) map[string]string {
	return map[string]string{"pipe_size": strconv.Itoa(capacity(r, w))}
}
