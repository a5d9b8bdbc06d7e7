package pipe

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/windows"

	"msgbench/transports"
	"msgbench/transports/internal/frame"
)

// prefix begins the name of each named pipe. They live in a name space of their own, so Options.Dir is not used, and
// vanish with their last handle.
const prefix = `\\.\pipe\msgbench-`

// bufferSize is asked for in each direction, in bytes.
const bufferSize = 64 << 10

// Info tells what named pipes can do.
func (*Transport) Info() transports.Info {
	return transports.Info{
		Name:       "pipe",
		Summary:    "named pipe (byte mode, overlapped), through the Go runtime's poller",
		Waits:      []transports.Wait{transports.Block},
		MaxMessage: maxMessage,
	}
}

// Listen makes a named pipe that takes one client.
func (t *Transport) Listen(o transports.Options) (transports.Listener, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return nil, err
	}
	l := &listener{o: o, name: prefix + rand.Text()}
	name, err := windows.UTF16PtrFromString(l.name)
	if err != nil {
		return nil, fmt.Errorf("pipe: name %q: %w", l.name, err)
	}
	if l.closing, err = windows.CreateEvent(nil, 1, 0, nil); err != nil {
		return nil, fmt.Errorf("pipe: create event: %w", err)
	}
	l.pipe, err = windows.CreateNamedPipe(name,
		windows.PIPE_ACCESS_DUPLEX|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_READMODE_BYTE|windows.PIPE_WAIT|windows.PIPE_REJECT_REMOTE_CLIENTS,
		1, bufferSize, bufferSize, 0, nil)
	if err != nil {
		windows.CloseHandle(l.closing)
		return nil, fmt.Errorf("pipe: create %s: %w", l.name, err)
	}
	return l, nil
}

// Dial opens the named pipe.
func (t *Transport) Dial(endpoint string, o transports.Options) (transports.Conn, error) {
	o, err := o.Normalized(t.Info())
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(endpoint, prefix) {
		return nil, fmt.Errorf("pipe: endpoint %q does not begin with %s", endpoint, prefix)
	}
	name, err := windows.UTF16PtrFromString(endpoint)
	if err != nil {
		return nil, fmt.Errorf("pipe: endpoint %q: %w", endpoint, err)
	}
	// SECURITY_ANONYMOUS: the server may not act in our name.
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_OVERLAPPED|windows.SECURITY_SQOS_PRESENT|windows.SECURITY_ANONYMOUS, 0)
	if err != nil {
		return nil, fmt.Errorf("pipe: open %s: %w", endpoint, err)
	}
	return newConn(h, endpoint, o), nil
}

// newConn owns h. os.NewFile hands an overlapped handle to the poller, so that Close ends blocked calls.
func newConn(h windows.Handle, name string, o transports.Options) transports.Conn {
	stream := frame.Over(os.NewFile(uintptr(h), name))
	return frame.NewConn("pipe", stream, o.MaxMessage, inFlight, map[string]string{"pipe_size": fmt.Sprint(bufferSize)})
}

// inFlight is a guess on the safe side of how many frames of size bytes a pipe takes: half the buffer, with some cost for
// each frame.
func inFlight(size int) int { return bufferSize / 2 / (size + 128) }

type listener struct {
	o       transports.Options
	name    string
	closing windows.Handle // event, set by Close

	mu        sync.Mutex
	pipe      windows.Handle // 0 once it is the connection's, or closed
	accepting bool
	closed    bool
}

func (l *listener) Endpoint() string { return l.name }

// Accept waits until a client has opened the pipe.
func (l *listener) Accept() (transports.Conn, error) {
	l.mu.Lock()
	if l.closed || l.pipe == 0 {
		l.mu.Unlock()
		return nil, fmt.Errorf("pipe: accept: %w", transports.ErrClosed)
	}
	h := l.pipe
	l.pipe, l.accepting = 0, true
	l.mu.Unlock()
	err := connect(h, l.closing)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepting = false
	if l.closed {
		windows.CloseHandle(l.closing)
		err = transports.ErrClosed
	}
	if err != nil {
		windows.CloseHandle(h)
		return nil, fmt.Errorf("pipe: accept: %w", err)
	}
	return newConn(h, l.name, l.o), nil
}

// connect waits until h has a client, or until the event stop.
func connect(h, stop windows.Handle) error {
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(event)
	ov := &windows.Overlapped{HEvent: event}
	err = windows.ConnectNamedPipe(h, ov)
	switch {
	case err == nil, errors.Is(err, windows.ERROR_PIPE_CONNECTED):
		return nil
	case !errors.Is(err, windows.ERROR_IO_PENDING):
		return err
	}
	which, err := windows.WaitForMultipleObjects([]windows.Handle{event, stop}, false, windows.INFINITE)
	if err == nil && which == windows.WAIT_OBJECT_0 {
		var n uint32
		return windows.GetOverlappedResult(h, ov, &n, true)
	}
	// The system writes to ov until the call has ended.
	windows.CancelIoEx(h, ov)
	var n uint32
	windows.GetOverlappedResult(h, ov, &n, true)
	if err == nil {
		err = transports.ErrClosed
	}
	return err
}

// Close ends Accept and closes the pipe if nobody has it.
func (l *listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	windows.SetEvent(l.closing)
	if !l.accepting {
		windows.CloseHandle(l.closing) // else Accept does, which still waits for it
	}
	if l.pipe != 0 {
		windows.CloseHandle(l.pipe)
		l.pipe = 0
	}
	return nil
}
