package brokered

import (
	"encoding/binary"
	"testing"
	"time"

	"msgbench/transports"
)

// TestStream streams typed messages whose frames do not divide the buffers that they pass through.
func TestStream(t *testing.T) {
	const n, payload = 200_000, 128
	for _, tr := range []transports.Transport{NewTCP(), NewUnix()} {
		r := withRouter(t, tr, transports.Stack)
		o := transports.Options{Pattern: transports.Stream, MaxMessage: transports.EnvelopeSize + payload}
		l, err := r.Listen(o)
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Dial(l.Endpoint(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		sent := make(chan error, 1)
		go func() {
			m := make([]byte, transports.EnvelopeSize+payload)
			c.(transports.TypedConn).Shape(m[transports.EnvelopeSize:])
			binary.LittleEndian.PutUint32(m[20:], payload)
			binary.LittleEndian.PutUint32(m[16:], 5)
			for i := range uint64(n) {
				binary.LittleEndian.PutUint64(m, i)
				if err := c.Send(m); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		// Late, so that messages come together with the notice of the consumer.
		time.Sleep(50 * time.Millisecond)
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for i := range uint64(n) {
			m, err := s.Recv()
			if err != nil {
				t.Fatalf("%s: message %d: %v", r.Info().Name, i, err)
			}
			if got := binary.LittleEndian.Uint64(m); got != i || len(m) != transports.EnvelopeSize+payload {
				t.Fatalf("%s: message %d of %d B, want %d", r.Info().Name, got, len(m), i)
			}
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
}
