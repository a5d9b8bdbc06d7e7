package tcp

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"msgbench/transports"
)

// accepted is what Accept returned.
type accepted struct {
	c   transports.Conn
	err error
}

// listen starts a listener and its Accept.
func listen(t *testing.T) (transports.Listener, chan accepted) {
	t.Helper()
	l, err := New().Listen(transports.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan accepted, 1)
	go func() {
		c, err := l.Accept()
		got <- accepted{c, err}
	}()
	return l, got
}

// stranger connects without Dial and says something.
func stranger(t *testing.T, l transports.Listener, says string) net.Conn {
	t.Helper()
	addr, _, _ := strings.Cut(l.Endpoint(), "/")
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, says); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStrangers has connections of others come before our peer's: they must be dropped, and hold up nobody.
func TestStrangers(t *testing.T) {
	l, got := listen(t)
	silent := stranger(t, l, "")
	partial := stranger(t, l, magic+"abc")
	wrong := stranger(t, l, magic+"12345678")
	http := stranger(t, l, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	start := time.Now()
	c, err := New().Dial(l.Endpoint(), transports.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a := <-got
	if a.err != nil {
		t.Fatal(a.err)
	}
	defer a.c.Close()
	if took := time.Since(start); took > strangerTimeout/2 {
		t.Errorf("connecting took %v: a stranger held it up", took)
	}
	if err := c.Send([]byte("mine")); err != nil {
		t.Fatal(err)
	}
	if msg, err := a.c.Recv(); err != nil || string(msg) != "mine" {
		t.Errorf("got %q and error %v", msg, err)
	}
	for name, s := range map[string]net.Conn{"silent": silent, "partial": partial, "wrong token": wrong, "http": http} {
		s.SetReadDeadline(time.Now().Add(5 * time.Second))
		if n, err := s.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, net.ErrClosed) {
			t.Errorf("%s stranger: read %d B and error %v, want to be dropped", name, n, err)
		} else if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("%s stranger is still connected", name)
		}
	}
}

// TestWrongListener dials a port where somebody else listens now.
func TestWrongListener(t *testing.T) {
	other, gotOther := listen(t)
	l, got := listen(t)
	addr, _, _ := strings.Cut(other.Endpoint(), "/")
	_, tok, _ := strings.Cut(l.Endpoint(), "/")
	if c, err := New().Dial(addr+"/"+tok, transports.Options{}); err == nil {
		c.Close()
		t.Error("Dial met a listener with another token")
	}
	for _, g := range []chan accepted{gotOther, got} {
		select {
		case a := <-g:
			t.Errorf("Accept returned %v", a)
		default:
		}
	}
	fake, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	go func() {
		if c, err := fake.Accept(); err == nil {
			io.WriteString(c, magic+"12345678")
			io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	if c, err := New().Dial(fake.Addr().String()+"/"+tok, transports.Options{}); !errors.Is(err, transports.ErrFrame) {
		if err == nil {
			c.Close()
		}
		t.Errorf("Dial to a listener that does not know the token: error %v, want ErrFrame", err)
	}
	for _, endpoint := range []string{"", "127.0.0.1:1", "127.0.0.1:1/12", "127.0.0.1:1/" + strings.Repeat("x", 32)} {
		if _, err := New().Dial(endpoint, transports.Options{}); err == nil || !strings.Contains(err.Error(), "hex digits") {
			t.Errorf("Dial(%q): error %v, want one about the endpoint", endpoint, err)
		}
	}
}

// TestNodelay reads the option back.
func TestNodelay(t *testing.T) {
	for _, nagle := range []bool{false, true} {
		l, got := listen(t)
		c, err := New().Dial(l.Endpoint(), transports.Options{Nagle: nagle})
		if err != nil {
			t.Fatal(err)
		}
		a := <-got
		if want := map[bool]string{false: "on", true: "off"}[nagle]; c.Facts()["nodelay"] != want {
			t.Errorf("Nagle %v: nodelay=%s, want %s", nagle, c.Facts()["nodelay"], want)
		}
		c.Close()
		a.c.Close()
	}
}
