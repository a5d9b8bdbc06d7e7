package brokered

import (
	"encoding/binary"
	"testing"

	"msgbench/transports"
)

// TestCork sends messages of all sizes, most of them kept back for a while, and expects each in its turn.
func TestCork(t *testing.T) {
	for _, tr := range []transports.Transport{NewTCP(), NewUnix()} {
		r := withRouter(t, tr, transports.Stack)
		o := transports.Options{Pattern: transports.Stream, MaxMessage: transports.EnvelopeSize + 64<<10}
		l, err := r.Listen(o)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := r.Dial(l.Endpoint(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()

		const n = 5000
		sizes := []int{0, 8, 1024, 4096, 64 << 10, 128}
		sent := make(chan error, 1)
		go func() {
			sent <- func() error {
				c := conn.(*stack)
				for i := range uint64(n) {
					if i%17 == 0 {
						c.Cork()
						c.Cork() // twice is no more than once
					}
					m := make([]byte, transports.EnvelopeSize+sizes[i%6])
					c.Shape(m[transports.EnvelopeSize:])
					binary.LittleEndian.PutUint64(m, i)
					binary.LittleEndian.PutUint32(m[16:], kindData)
					binary.LittleEndian.PutUint32(m[20:], uint32(sizes[i%6]))
					if err := c.Send(m); err != nil {
						return err
					}
					if waits := len(c.kept) > 0; waits && !c.corked || !waits && i == 0 {
						t.Errorf("message %d: %d B are kept back, corked: %t", i, len(c.kept), c.corked)
					}
					if len(c.kept) > corkLimit {
						t.Errorf("message %d: %d B are kept back, at most %d", i, len(c.kept), corkLimit)
					}
					if i%17 == 13 {
						if err := c.Uncork(); err != nil {
							return err
						}
					}
				}
				return c.Uncork()
			}()
		}()
		for i := range uint64(n) {
			m, err := s.Recv()
			if err != nil {
				t.Fatalf("%s: message %d: %v", r.Info().Name, i, err)
			}
			if got := binary.LittleEndian.Uint64(m); got != i || len(m) != transports.EnvelopeSize+sizes[i%6] {
				t.Fatalf("%s: message %d of %d B, want %d", r.Info().Name, got, len(m), i)
			}
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		if got := conn.Facts()["corked"]; got != "yes" {
			t.Errorf("corked is %q", got)
		}
	}
}
