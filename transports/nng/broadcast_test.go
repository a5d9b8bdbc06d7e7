package nng_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock/mqtest"
	"msgbench/transports/nng"
)

const (
	pub0 = "\x00SP\x00\x00\x20\x00\x00"
	sub0 = "\x00SP\x00\x00\x21\x00\x00"
)

func publisher(t *testing.T, o transports.Options) (transports.Listener, transports.Conn) {
	t.Helper()
	l, err := nng.NewTCP().ListenBroadcast(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, mqtest.Accept(t, l)
}

func subscriber(t *testing.T, endpoint string, o transports.Options) transports.Conn {
	t.Helper()
	c, err := nng.NewTCP().DialBroadcast(endpoint, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Clients that are no subscribers are dropped, and what a subscriber sends does no harm.
func TestStrangersOfBroadcast(t *testing.T) {
	o := transports.Options{Dir: t.TempDir(), MaxMessage: 1000}
	l, p := publisher(t, o)
	stranger(t, l.Endpoint(), "")
	for _, header := range []string{"GET / HTTP/1.0\r\n\r\n", pair0, pub0, sub0 + "\x40\x00\x00\x00\x00\x00\x00\x00"} {
		s := stranger(t, l.Endpoint(), header)
		var timeout net.Error
		if _, err := io.Copy(io.Discard, s); errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("a stranger that says %q is still connected", header)
		}
	}
	stranger(t, l.Endpoint(), sub0+strings.Repeat(frame("hello"), 1000))
	mqtest.Heard(t, p, subscriber(t, l.Endpoint(), o))
}

// A message of the publisher that has the length of the mark for the end, or is broken off, is told from the end.
func TestFramesOfBroadcast(t *testing.T) {
	for _, c := range []struct {
		bytes string
		want  error
	}{
		{"", io.EOF},
		{"\x00\x00", io.ErrUnexpectedEOF},
		{frame("abc")[:9], io.ErrUnexpectedEOF},
		{frame(strings.Repeat("x", 1001)), transports.ErrTooLarge},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			s, err := l.Accept()
			if err != nil {
				return
			}
			s.Write([]byte(pub0 + frame("") + frame("\xff") + c.bytes))
			skipHeader(t, s)
			s.Close()
		}()
		in := subscriber(t, "tcp://"+l.Addr().String(), transports.Options{MaxMessage: 1000})
		for _, want := range []string{"", "\xff"} {
			if got, err := in.Recv(); err != nil || string(got) != want {
				t.Fatalf("got %q, %v, want %q", got, err, want)
			}
		}
		for range 2 {
			if got, err := in.Recv(); !errors.Is(err, c.want) {
				t.Fatalf("after %q: got %q, %v, want error %v", c.bytes, got, err, c.want)
			}
		}
	}
}

func TestBroadcastFacts(t *testing.T) {
	for _, x := range []struct {
		max   int
		queue string
	}{{0, "128"}, {1 << 20, "32"}, {64 << 20, "1"}} {
		o := transports.Options{Dir: t.TempDir(), MaxMessage: x.max}
		l, p := publisher(t, o)
		c := subscriber(t, l.Endpoint(), o)
		mqtest.Heard(t, p, c)
		for k, want := range map[string]string{"broadcast_socket": "pub", "broadcast_send_queue": x.queue, "broadcast_nodelay": "on"} {
			if got := p.Facts()[k]; got != want {
				t.Errorf("messages of %d B: the publisher's %s is %q, want %q", x.max, k, got, want)
			}
		}
		for k, want := range map[string]string{"broadcast_socket": "sub", "broadcast_recv_queue": x.queue} {
			if got := c.Facts()[k]; got != want {
				t.Errorf("messages of %d B: the subscriber's %s is %q, want %q", x.max, k, got, want)
			}
		}
	}
}
