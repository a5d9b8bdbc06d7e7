// Package mqtest is what the tests of the message-queue transports share.
package mqtest

import (
	"testing"
	"time"

	"msgbench/transports"
)

// Accept returns the connection of a listener, closed when the test is over.
func Accept(t *testing.T, l transports.Listener) transports.Conn {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Heard sends until c receives something.
func Heard(t *testing.T, p, c transports.Conn) {
	t.Helper()
	got := make(chan error, 1)
	go func() { _, err := c.Recv(); got <- err }()
	for range 2000 {
		if err := p.Send([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-got:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatal("nothing came")
}
