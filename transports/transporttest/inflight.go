package transporttest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"msgbench/transports"
)

// testInFlight holds an adapter to InFlight: that many messages must be taken while nobody receives, on a fresh
// connection and on a used one, all at once and as a sliding window, in requests and in replies.
func (s *suite) testInFlight(t *testing.T) {
	sizes := []int{32, 40, 96, 100, 250, 1000, 1300, 2000, 2048, 4000, 4092, 4096, 4097, 6000, 8192, 10000, 16064, 30000,
		32 << 10, 64<<10 - 4, 64 << 10, 100000, 256 << 10, 1 << 20}
	for _, pattern := range []transports.Pattern{transports.Pipelined, transports.Stream} {
		t.Run(string(pattern), func(t *testing.T) {
			p := s.connect(t, s.options(t, pattern))
			for _, size := range sizes {
				if size > s.largest() {
					continue
				}
				n := p.dial.InFlight(size)
				if pattern == transports.Pipelined {
					n = min(n, p.accept.InFlight(size))
				}
				if n < 1 {
					t.Fatalf("InFlight(%d) = %d, must be at least 1", size, n)
				}
				if size <= 96 && n < 16 {
					t.Fatalf("InFlight(%d) = %d with Depth 16: too little for a pipeline of small messages", size, n)
				}
				if n == 1 && size >= 4096 {
					s.oneInFlight(t, p, size)
					continue
				}
				if pattern == transports.Stream {
					s.fillStream(t, p, size, min(n, 20000))
				} else {
					s.fillPipeline(t, p, size, min(n, 20000))
				}
			}
		})
	}
}

// oneInFlight sends a message that may be larger than every buffer, so Send may wait for Recv.
func (s *suite) oneInFlight(t *testing.T, p *pair, size int) {
	t.Helper()
	sent := p.dialer.start(fmt.Sprintf("send one of %d B", size), func() error { return send(p.dial, make([]byte, size), size, 1) })
	sent.within(20 * time.Millisecond)
	p.listener.start("receive it", func() error { return recv(p.accept, size, 1) }).must(t)
	sent.must(t)
}

// fillStream sends n messages, then slides: one received, one sent. A single thread does both ends, so that a Send that
// blocks is seen by the step's deadline.
func (s *suite) fillStream(t *testing.T, p *pair, size, n int) {
	t.Helper()
	slide := 200
	if size > 10000 {
		slide = 10
	}
	var sent atomic.Int64
	what := fmt.Sprintf("InFlight(%d) = %d: one thread sends %d and then slides by %d", size, n, n, slide)
	st := p.dialer.start(what, func() error {
		buf := make([]byte, size)
		for i := range n + slide {
			if i >= n {
				if err := recv(p.accept, size, i-n); err != nil {
					return err
				}
			}
			if err := send(p.dial, buf, size, i); err != nil {
				return err
			}
			sent.Add(1)
		}
		for i := range n {
			if err := recv(p.accept, size, i+slide); err != nil {
				return err
			}
		}
		return nil
	})
	if !st.within(deadline / 2) {
		t.Errorf("%s: blocked at message %d", st.what, sent.Load())
	}
	st.must(t)
}

// fillPipeline has n requests taken while nobody receives, then their replies, then slides with all n as requests and
// with all n as replies: the two extremes of a pipeline of depth n between single-threaded sides.
func (s *suite) fillPipeline(t *testing.T, p *pair, size, n int) {
	t.Helper()
	slide := 100
	if size > 10000 {
		slide = 5
	}
	var done atomic.Int64
	st := p.dialer.start(fmt.Sprintf("InFlight(%d) = %d: one thread does both ends of a pipeline", size, n), func() error {
		buf := make([]byte, size)
		sent, received := 0, 0
		request := func() error { sent++; return send(p.dial, buf, size, sent-1) }
		serve := func() error { return echo(p.accept, 1) }
		reply := func() error { received++; return recv(p.dial, size, received-1) }
		type action struct {
			times int
			do    []func() error
		}
		for _, a := range []action{
			{n, []func() error{request}},
			{slide, []func() error{serve, reply, request}}, // all in flight are requests
			{n, []func() error{serve}},
			{slide, []func() error{reply, request, serve}}, // all in flight are replies
			{n, []func() error{reply}},
		} {
			for range a.times {
				for _, f := range a.do {
					if err := f(); err != nil {
						return err
					}
					done.Add(1)
				}
			}
		}
		return nil
	})
	if !st.within(deadline / 2) {
		t.Errorf("%s: blocked after %d operations", st.what, done.Load())
	}
	st.must(t)
}
