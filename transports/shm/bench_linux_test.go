package shm

import (
	"fmt"
	"testing"

	"msgbench/transports"
)

// pair connects two sides inside this process, each with a mapping of its own.
func pair(t testing.TB, o transports.Options) (dialed, accepted *conn) {
	t.Helper()
	o.Dir = t.TempDir()
	l, err := New().Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			accepted = c.(*conn)
		}
		done <- err
	}()
	d, err := New().Dial(l.Endpoint(), o)
	if err != nil {
		t.Fatal(err)
	}
	dialed = d.(*conn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close(); accepted.Close() })
	return dialed, accepted
}

// BenchmarkSendRecv is what one message costs in instructions: both sides on one thread, all lines in its own cache.
func BenchmarkSendRecv(b *testing.B) {
	for _, size := range []int{40, 96, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			d, a := pair(b, transports.Options{})
			msg := make([]byte, size)
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Send(msg); err != nil {
					b.Fatal(err)
				}
				if _, err := a.Recv(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
