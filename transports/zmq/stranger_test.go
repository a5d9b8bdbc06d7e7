package zmq_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"msgbench/transports"
	"msgbench/transports/internal/mqsock/mqtest"
	"msgbench/transports/zmq"
)

// stranger speaks ZMTP by hand: connect, greet, say which kind of socket it is.
func stranger(t *testing.T, endpoint, socket string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	greeting := make([]byte, 64)
	copy(greeting, "\xff\x00\x00\x00\x00\x00\x00\x00\x00\x7f\x03\x00NULL")
	ready := "\x05READY\x0bSocket-Type" + string(binary.BigEndian.AppendUint32(nil, uint32(len(socket)))) + socket
	c.Write(greeting)
	c.Write(append([]byte{4, byte(len(ready))}, ready...))
	if _, err := io.ReadFull(c, greeting); err != nil {
		t.Fatalf("greeting: %v", err)
	}
	return c
}

// skipReady reads the other side's READY command.
func skipReady(t *testing.T, c net.Conn) {
	t.Helper()
	var head [2]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, c, int64(head[1])); err != nil {
		t.Fatal(err)
	}
}

func listen(t *testing.T, p transports.Pattern) transports.Listener {
	t.Helper()
	l, err := zmq.NewTCP().Listen(transports.Options{Dir: t.TempDir(), Pattern: p, MaxMessage: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// Clients that are no peers must not take the peer's place, nor keep it waiting.
func TestStrangersStayOutside(t *testing.T) {
	l := listen(t, transports.RequestReply)
	silent, err := net.Dial("tcp", strings.TrimPrefix(l.Endpoint(), "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	babbler, _ := net.Dial("tcp", strings.TrimPrefix(l.Endpoint(), "tcp://"))
	defer babbler.Close()
	babbler.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
	stranger(t, l.Endpoint(), "PULL")
	stranger(t, l.Endpoint(), "NO-SUCH-SOCKET") // zmq4 v0.17.0 panics on its own

	start := time.Now()
	c, err := zmq.NewTCP().Dial(l.Endpoint(), transports.Options{})
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
	for _, s := range []net.Conn{silent, babbler} {
		s.SetReadDeadline(time.Now().Add(8 * time.Second))
		if _, err := io.Copy(io.Discard, s); errors.Is(err, net.ErrClosed) || isTimeout(err) {
			t.Errorf("a stranger is still connected after the peer is in: %v", err)
		}
	}
	if late, err := net.Dial("tcp", strings.TrimPrefix(l.Endpoint(), "tcp://")); err == nil {
		late.Close()
		t.Error("the port is still open after the peer is in")
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// What comes after the handshake is read by goroutines of the library, which must neither panic nor allocate what a
// header announces.
func TestFramesOfStrangers(t *testing.T) {
	long := func(n uint64) string { return "\x02" + string(binary.BigEndian.AppendUint64(nil, n)) }
	for _, c := range []struct {
		name, bytes string
		want        error
	}{
		{"end between messages", "", io.EOF},
		{"end in a header", "\x00", io.ErrUnexpectedEOF},
		{"end in a long header", "\x02\x00\x00", io.ErrUnexpectedEOF},
		{"end before a body", "\x00\x05", io.ErrUnexpectedEOF},
		{"end in a body", "\x00\x05abc", io.ErrUnexpectedEOF},
		{"end between frames", "\x01\x01a", io.ErrUnexpectedEOF},
		{"too long", long(1001), transports.ErrTooLarge},
		{"absurdly long", long(1 << 62), transports.ErrTooLarge},
		{"negative length", long(1 << 63), transports.ErrTooLarge},
		{"unknown flags", "\x80\x01a", transports.ErrFrame},
		{"two frames", "\x01\x01a\x00\x01b", transports.ErrFrame},
		{"heartbeat, then the end", "\x04\x07\x04PING\x00\x00", io.EOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := listen(t, transports.Pipelined)
			s := stranger(t, l.Endpoint(), "DEALER")
			server := mqtest.Accept(t, l)
			skipReady(t, s)
			s.Write([]byte("\x00\x02hi" + c.bytes))
			if c.want == io.EOF || c.want == io.ErrUnexpectedEOF {
				s.Close()
			}
			if got, err := server.Recv(); string(got) != "hi" {
				t.Fatalf("the message before: got %q, %v", got, err)
			}
			for range 2 {
				if got, err := server.Recv(); !errors.Is(err, c.want) {
					t.Fatalf("got %q, %v, want error %v", got, err, c.want)
				}
				if c.name == "two frames" {
					return // the connection goes on
				}
			}
			if err := server.Send(nil); err == nil {
				t.Error("Send after the end gave no error")
			}
		})
	}
}

// A REP socket tells nobody that its peer has gone; requests that came before must still be handed out.
func TestReplierSeesTheEnd(t *testing.T) {
	for range 20 {
		l := listen(t, transports.RequestReply)
		s := stranger(t, l.Endpoint(), "REQ")
		server := mqtest.Accept(t, l)
		skipReady(t, s)
		s.Write([]byte("\x01\x00\x00\x02hi"))
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
