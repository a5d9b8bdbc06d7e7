package frame

import (
	"io"
	"testing"
)

// counted is a Stream that keeps what is written and counts calls.
type counted struct {
	collect
	reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return c.Buffer.Read(p)
}
func (c *counted) Closed() bool { return false }
func (c *counted) Close() error { return nil }

// TestCalls counts what will be system calls: one write a message, and one read for all that is there.
func TestCalls(t *testing.T) {
	var s counted
	c := NewConn("test", &s, 1<<20, func(int) int { return 0 }, nil)
	if n := c.InFlight(1); n != 1 {
		t.Errorf("InFlight = %d where the stream says 0, want 1", n)
	}
	msg := make([]byte, 40)
	for range 1000 { // ping-pong
		if err := c.Send(msg); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	if s.calls != 1000 || s.reads != 1000 {
		t.Errorf("%d writes and %d reads for 1000 messages one by one", s.calls, s.reads)
	}
	s.calls, s.reads = 0, 0
	for range 1000 { // all at once: 44 kB
		c.Send(msg)
	}
	for range 1000 {
		if _, err := c.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	if s.calls != 1000 || s.reads != 1 {
		t.Errorf("%d writes and %d reads for 1000 messages that lie ready", s.calls, s.reads)
	}
	if _, err := c.Recv(); err != io.EOF {
		t.Errorf("at the end: %v, want io.EOF", err)
	}
}
