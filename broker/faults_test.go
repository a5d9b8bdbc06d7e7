package broker

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// flood sends messages of a kilobyte to the other end until it is told to stop or blocks, and counts them.
func flood(p pair, sent *atomic.Int64, most int64) {
	body := make([]byte, 1000)
	for i := int64(0); i < most; i++ {
		if p.provider.Send(Header{BufType: BufFlat, Event: Message, Target: p.consumer.Cookie, Sequence: uint64(i)}, body) != nil {
			return
		}
		sent.Add(1)
	}
}

// TestNeverReadsBlock lets the sender wait when a consumer never reads, holds the queue to its bound, and goes on with others.
func TestNeverReadsBlock(t *testing.T) {
	r, e := startRouter(t, Options{Queue: 64 << 10})
	p, busy := newPair(t, e, "slow"), newPair(t, e, "busy")
	var sent atomic.Int64
	flooded := make(chan struct{})
	go func() { flood(p, &sent, 1<<40); close(flooded) }()
	for last := int64(-1); last != sent.Load(); time.Sleep(100 * time.Millisecond) {
		last = sent.Load()
	}
	for i := range 100 {
		busy.exchange(t, uint64(i))
	}
	q := r.find(p.consumer.Cookie)
	q.mu.Lock()
	n := len(q.queue)
	q.mu.Unlock()
	if n > 64<<10+2*busyBuffer {
		t.Errorf("%d B are queued, the bound is %d B", n, 64<<10)
	}
	if r.Counts().Waits == 0 || r.Counts().Dropped != 0 {
		t.Errorf("%d waits, %d dropped", r.Counts().Waits, r.Counts().Dropped)
	}
	// When it reads after all, everything comes, in order.
	for i := range uint64(sent.Load()) {
		if f := next(t, p.consumer, Message); SequenceOf(f) != i {
			t.Fatalf("message %d, want %d", SequenceOf(f), i)
		}
	}
	// And when it dies instead, the sender is not held any longer.
	for last := int64(-1); last != sent.Load(); time.Sleep(50 * time.Millisecond) {
		last = sent.Load()
	}
	p.consumer.Close()
	<-flooded // it would go on for ever, but the router has closed it
	for EventOf(anyNext(t, p.provider)) != Gone {
	}
}

// anyNext is the next frame of any event.
func anyNext(t *testing.T, l *Link) []byte {
	t.Helper()
	f, err := l.Next()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestNeverReadsDrop drops and counts what a slow consumer does not take; what comes is in order.
func TestNeverReadsDrop(t *testing.T) {
	const most = 30_000
	r, e := startRouter(t, Options{Queue: 64 << 10, Slow: Drop})
	p := newPair(t, e, "slow")
	var sent atomic.Int64
	flood(p, &sent, most)
	for until := time.Now().Add(testTime); r.Counts().Messages+r.Counts().Dropped < most; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%+v", r.Counts())
		}
	}
	c := r.Counts()
	if sent.Load() != most || c.Dropped == 0 {
		t.Fatalf("%d sent, %d dropped", sent.Load(), c.Dropped)
	}
	last := int64(-1)
	p.consumer.Conn.SetDeadline(time.Now().Add(testTime))
	for range c.Messages {
		f := next(t, p.consumer, Message)
		if s := int64(SequenceOf(f)); s <= last {
			t.Fatalf("message %d after %d", s, last)
		} else {
			last = s
		}
	}
}

// TestRouterDies has both sides come back to a router that is killed and started anew, and find each other again.
func TestRouterDies(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan uint64, 1000)
	ended := make(chan error, 2)
	endpoint := Endpoint(l.Addr(), nil)
	go func() {
		ended <- Keep(ctx, endpoint, 1000, func(l *Link) error { _, err := l.Register("s", nil); return err },
			func(_ *Link, f []byte) {
				if EventOf(f) == Message {
					got <- SequenceOf(f)
				}
			})
	}()
	var round atomic.Uint64
	go func() {
		ended <- Keep(ctx, endpoint, 1000, func(l *Link) error {
			s, err := l.Find("s")
			if err != nil {
				return err
			}
			return l.Send(Header{BufType: BufFlat, Event: Message, Target: s.Provider, Sequence: round.Load()}, nil)
		}, func(*Link, []byte) {})
	}()
	for i := range uint64(3) {
		round.Store(i)
		r := New(l, Options{})
		go r.Serve()
		for deadline := time.After(testTime); ; {
			select {
			case n := <-got:
				if n != i {
					continue
				}
			case <-deadline:
				t.Fatalf("router %d: they did not find each other again", i)
			}
			break
		}
		r.Close()
		if l, err = net.Listen("tcp", address); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
	cancel()
	for range 2 {
		if err := <-ended; err != context.Canceled {
			t.Errorf("Keep ended with %v", err)
		}
	}
}

// TestBackoff grows from milliseconds to a second at most.
func TestBackoff(t *testing.T) {
	var b Backoff
	for i, most := range []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000} {
		if d := b.Next(); d < most*time.Millisecond/2 || d > most*time.Millisecond {
			t.Errorf("pause %d: %s, want %d to %d ms", i, d, most/2, most)
		}
	}
}
