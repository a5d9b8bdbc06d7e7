//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package pipe

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"msgbench/transports"
	"msgbench/transports/internal/frame"
	"msgbench/transports/internal/rawfd"
)

// hello is what each side sends once, before the first frame. docs/wire.md has the handshake.
const hello = "msgbpip1"

// dialTimeout bounds how long Dial waits until the listener accepts.
const dialTimeout = 30 * time.Second

// pollInterval is how soon a side that waits for the other sees that the listener was closed.
const pollInterval = 20 * time.Millisecond

// The two FIFOs of an endpoint: one from the dialing to the listening side, one back.
const (
	up   = ".up"
	down = ".down"
)

// Listen makes two FIFOs in o.Dir.
func (t *Transport) Listen(o transports.Options) (transports.Listener, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(o.Dir, " \t\r\n") {
		return nil, fmt.Errorf("pipe: folder %q has a space in its name: choose another", o.Dir)
	}
	l := &listener{o: o, path: filepath.Join(o.Dir, "pipe-"+rand.Text()[:12]), up: -1, end: make(chan struct{})}
	for _, suffix := range []string{up, down} {
		if err := unix.Mkfifo(l.path+suffix, 0o600); err != nil {
			l.unlink()
			return nil, fmt.Errorf("pipe: mkfifo %s: %w", l.path+suffix, err)
		}
	}
	// Open at once, so that the dialing side can open its end without waiting, and notices if we go.
	if l.up, err = openFIFO(l.path+up, unix.O_RDONLY); err != nil {
		l.unlink()
		return nil, err
	}
	return l, nil
}

// Dial opens the FIFOs of endpoint and waits until the listener has accepted.
func (t *Transport) Dial(endpoint string, o transports.Options) (transports.Conn, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return nil, err
	}
	r, err := openFIFO(endpoint+down, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	w, err := openFIFO(endpoint+up, unix.O_WRONLY)
	if err != nil {
		unix.Close(r)
		return nil, err
	}
	if err := dialHandshake(r, w); err != nil {
		unix.Close(r)
		unix.Close(w)
		return nil, fmt.Errorf("pipe: dial %s: %w", endpoint, err)
	}
	return newConn(r, w, o)
}

// dialHandshake says hello and waits for the listener's.
func dialHandshake(r, w int) error {
	if _, err := unix.Write(w, []byte(hello)); err != nil {
		return os.NewSyscallError("write", err)
	}
	for until := time.Now().Add(dialTimeout); time.Now().Before(until); {
		// The write end reports an error once nobody has the read end open any more; the read end would not, since
		// it has never had a writer.
		fds := []unix.PollFd{{Fd: int32(r), Events: unix.POLLIN}, {Fd: int32(w)}}
		if _, err := unix.Poll(fds, int(pollInterval.Milliseconds())); err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
		if fds[0].Revents != 0 {
			return readHello(r)
		}
		if fds[1].Revents != 0 {
			return errors.New("the listener has gone")
		}
	}
	return fmt.Errorf("not accepted within %v", dialTimeout)
}

// readHello reads the peer's hello, all of which is there: it was written at once.
func readHello(fd int) error {
	var b [len(hello)]byte
	n, err := unix.Read(fd, b[:])
	switch {
	case err != nil:
		return os.NewSyscallError("read", err)
	case n == 0:
		return errors.New("the peer has gone")
	case string(b[:n]) != hello:
		return fmt.Errorf("the peer says %q instead of %q: %w", b[:n], hello, transports.ErrFrame)
	}
	return nil
}

// openFIFO opens a FIFO without waiting for the other end.
func openFIFO(path string, mode int) (int, error) {
	fd, err := unix.Open(path, mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		if err == unix.ENXIO {
			return -1, fmt.Errorf("pipe: open %s: nobody has the other end open", path)
		}
		return -1, fmt.Errorf("pipe: open %s: %w", path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		unix.Close(fd)
		return -1, fmt.Errorf("pipe: %s is not a FIFO", path)
	}
	return fd, nil
}

// newConn owns r and w.
func newConn(r, w int, o transports.Options) (transports.Conn, error) {
	if o.Buffer > 0 {
		if err := setCapacity(r, w, o.Buffer); err != nil {
			unix.Close(r)
			unix.Close(w)
			return nil, err
		}
	}
	fd, err := rawfd.Pipes(r, w, o.Wait)
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	size := capacity(r, w)
	return frame.NewConn("pipe", fd, o.MaxMessage, func(f int) int { return inFlight(f, size) }, facts(r, w)), nil
}
