package nng_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock/mqtest"
	"msgbench/transports/nng"
)

// The numbers of the protocols in the header that each side sends first.
const (
	pair0 = "\x00SP\x00\x00\x10\x00\x00"
	req0  = "\x00SP\x00\x00\x30\x00\x00"
	pull0 = "\x00SP\x00\x00\x51\x00\x00"
)

// stranger connects and sends a protocol header by hand.
func stranger(t *testing.T, endpoint, header string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	c.Write([]byte(header))
	return c
}

// skipHeader reads the other side's header.
func skipHeader(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := io.CopyN(io.Discard, c, 8); err != nil {
		t.Fatal(err)
	}
}

func listen(t *testing.T, p transports.Pattern) transports.Listener {
	t.Helper()
	l, err := nng.NewTCP().Listen(transports.Options{Dir: t.TempDir(), Pattern: p, MaxMessage: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// frame is a message as it stands on the wire.
func frame(body string) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(len(body)))) + body
}

// Clients that are no peers must not take the peer's place, nor keep it waiting.
func TestStrangersStayOutside(t *testing.T) {
	l := listen(t, transports.RequestReply)
	silent := stranger(t, l.Endpoint(), "")
	stranger(t, l.Endpoint(), "GET / HTTP/1.0\r\n\r\n")
	stranger(t, l.Endpoint(), pull0)

	start := time.Now()
	c, err := nng.NewTCP().Dial(l.Endpoint(), transports.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server := mqtest.Accept(t, l)
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("the peer had to wait %v", took)
	}
	if err := c.Send([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if got, err := server.Recv(); string(got) != "hello" {
		t.Fatalf("got %q, %v", got, err)
	}
	var timeout net.Error
	if _, err := io.Copy(io.Discard, silent); errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("a stranger is still connected after the peer is in: %v", err)
	}
	if late, err := net.Dial("tcp", strings.TrimPrefix(l.Endpoint(), "tcp://")); err == nil {
		late.Close()
		t.Error("the port is still open after the peer is in")
	}
}

// The library's reader drops a connection without a word; our Recv says why, after what came before.
func TestFramesOfStrangers(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		want        error
	}{
		{"end between messages", "", io.EOF},
		{"end in a length", "\x00\x00", io.ErrUnexpectedEOF},
		{"end before a body", frame("abc")[:8], io.ErrUnexpectedEOF},
		{"end in a body", frame("abc")[:9], io.ErrUnexpectedEOF},
		{"too long", frame(strings.Repeat("x", 1001)), transports.ErrTooLarge},
		{"absurdly long", "\x40\x00\x00\x00\x00\x00\x00\x00", transports.ErrTooLarge},
		{"negative length", "\x80\x00\x00\x00\x00\x00\x00\x00", transports.ErrTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := listen(t, transports.Pipelined)
			s := stranger(t, l.Endpoint(), pair0)
			server := mqtest.Accept(t, l)
			skipHeader(t, s)
			s.Write([]byte(frame("hi") + c.bytes))
			if c.want != transports.ErrTooLarge {
				s.Close()
			}
			if got, err := server.Recv(); string(got) != "hi" {
				t.Fatalf("the message before: got %q, %v", got, err)
			}
			for range 2 {
				if got, err := server.Recv(); !errors.Is(err, c.want) {
					t.Fatalf("got %q, %v, want error %v", got, err, c.want)
				}
			}
			if err := server.Send(nil); err == nil {
				t.Error("Send after the end gave no error")
			}
		})
	}
}

// A request that came before the end must still be handed out.
func TestReplierSeesTheEnd(t *testing.T) {
	for range 20 {
		l := listen(t, transports.RequestReply)
		s := stranger(t, l.Endpoint(), req0)
		server := mqtest.Accept(t, l)
		skipHeader(t, s)
		s.Write([]byte(frame("\x80\x00\x00\x01hi")))
		s.Close()
		time.Sleep(time.Millisecond)
		if got, err := server.Recv(); string(got) != "hi" {
			t.Fatalf("got %q, %v", got, err)
		}
		if got, err := server.Recv(); !errors.Is(err, io.EOF) {
			t.Fatalf("got %q, %v, want io.EOF", got, err)
		}
	}
}

// A requester whose peer goes away gets the reply that was sent before, and is neither left waiting in Recv nor in Send.
func TestRequesterSeesTheEnd(t *testing.T) {
	for i := range 40 {
		o := transports.Options{Dir: t.TempDir()}
		l, err := nng.NewTCP().Listen(o)
		if err != nil {
			t.Fatal(err)
		}
		client, err := nng.NewTCP().Dial(l.Endpoint(), o)
		if err != nil {
			t.Fatal(err)
		}
		server := mqtest.Accept(t, l)
		client.Send([]byte("ask"))
		server.Recv()
		if i%2 == 0 {
			server.Send([]byte("reply"))
		}
		server.Close()
		got, err := client.Recv()
		if i%2 == 0 {
			if string(got) != "reply" {
				t.Fatalf("got %q, %v, want the reply", got, err)
			}
			for until := time.Now().Add(5 * time.Second); err == nil; { // the end may not have come yet
				if time.Now().After(until) {
					t.Fatal("Send to a closed peer goes on and on")
				}
				if err = client.Send([]byte("ask again")); err == nil {
					_, err = client.Recv()
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			t.Fatalf("got error %v, want io.EOF", err)
		}
		client.Close()
	}
}

func TestFacts(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	o := transports.Options{Dir: t.TempDir(), Nagle: true, Pattern: transports.Stream, Depth: 300}
	l, err := nng.NewTCP().Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := nng.NewTCP().Dial(l.Endpoint(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for k, want := range map[string]string{"socket": "pair", "nodelay": "off", "send_queue": "300", "recv_queue": "300"} {
		if got := c.Facts()[k]; got != want {
			t.Errorf("%s is %q, want %q", k, got, want)
		}
	}
	if lib := c.Facts()["library"]; !strings.Contains(string(mod), lib) {
		t.Errorf("library %q is not what go.mod says", lib)
	}
}
