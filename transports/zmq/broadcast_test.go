package zmq_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock/mqtest"
	"msgbench/transports/zmq"
)

func publisher(t *testing.T, tr *zmq.Transport, o transports.Options) (transports.Listener, transports.Conn) {
	t.Helper()
	l, err := tr.ListenBroadcast(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, mqtest.Accept(t, l)
}

// Clients that are no subscribers are dropped, and keep nobody waiting: the library would queue what they send for ever.
func TestStrangersOfBroadcast(t *testing.T) {
	o := transports.Options{Dir: t.TempDir(), MaxMessage: 1000}
	l, p := publisher(t, zmq.NewTCP(), o)
	silent, err := net.Dial("tcp", strings.TrimPrefix(l.Endpoint(), "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, c := range []struct{ name, socket, bytes string }{
		{"another kind", "PULL", ""},
		{"an unknown kind", "NO-SUCH-SOCKET", ""},
		{"no subscription", "SUB", "\x00\x05hello"},
		{"an empty message", "SUB", "\x00\x00"},
		{"two frames", "SUB", "\x01\x01\x01\x00\x01a"},
		{"a command", "SUB", "\x04\x06\x04PING\x00"},
		{"an absurd length", "SUB", "\x02\x7f\xff\xff\xff\xff\xff\xff\xff"},
	} {
		s := stranger(t, l.Endpoint(), c.socket)
		s.Write([]byte("\x00\x01\x01")) // subscribe to everything
		s.Write([]byte(strings.Repeat(c.bytes, 20)))
		if _, err := io.Copy(io.Discard, s); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: still connected", c.name)
		}
	}
	start := time.Now()
	c, err := zmq.NewTCP().DialBroadcast(l.Endpoint(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	mqtest.Heard(t, p, c)
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("a subscriber had to wait %v", took)
	}
}

func TestBroadcastFacts(t *testing.T) {
	for _, x := range []struct {
		max int
		hwm string
	}{{0, "1000"}, {1 << 20, "64"}, {64 << 20, "1"}} {
		o := transports.Options{Dir: t.TempDir(), MaxMessage: x.max}
		l, p := publisher(t, zmq.NewTCP(), o)
		c, err := zmq.NewTCP().DialBroadcast(l.Endpoint(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		mqtest.Heard(t, p, c)
		for k, want := range map[string]string{"broadcast_socket": "PUB", "broadcast_hwm": x.hwm, "broadcast_nodelay": "on"} {
			if got := p.Facts()[k]; got != want {
				t.Errorf("messages of %d B: the publisher's %s is %q, want %q", x.max, k, got, want)
			}
		}
		for k, want := range map[string]string{"broadcast_socket": "SUB", "broadcast_recv_queue": "10", "broadcast_nodelay": "on"} {
			if got := c.Facts()[k]; got != want {
				t.Errorf("the subscriber's %s is %q, want %q", k, got, want)
			}
		}
	}
}

// A run's folder holds the socket while the publisher listens, and only then.
func TestBroadcastSocketFile(t *testing.T) {
	dir, err := os.MkdirTemp("", "zb")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, p := publisher(t, zmq.NewIPC(), transports.Options{Dir: dir})
	if names, _ := filepath.Glob(dir + "/*"); len(names) != 1 || "ipc://"+names[0] != l.Endpoint() {
		t.Errorf("the folder holds %q, the endpoint is %s", names, l.Endpoint())
	}
	p.Close()
	if names, _ := filepath.Glob(dir + "/*"); len(names) != 0 {
		t.Errorf("the folder holds %q after Close", names)
	}
}
