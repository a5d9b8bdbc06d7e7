package transporttest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"msgbench/transports"
)

func seqOf(msg []byte) int { return int(binary.LittleEndian.Uint64(msg)) }

// testSlowSubscriber floods a subscriber that does not receive for a while, beside one that does. A publisher may be held
// up; a message may be lost if the transport says so, but it must not come damaged or out of turn.
func (s *broadcastSuite) testSlowSubscriber(t *testing.T) {
	const n = 20_000
	a := s.open(t, s.options(t, 4096), 2)
	a.await(t)
	wake := make(chan struct{})
	var lost [2]int
	var steps []*step
	for i, c := range a.subscribed {
		steps = append(steps, a.subs[i].start("receive what comes", func() (err error) {
			if i == 1 {
				<-wake
			}
			lost[i], err = tally(c, n)
			return err
		}))
	}
	flood := a.pub.start("flood", func() error {
		buf := make([]byte, 4096)
		for seq := range n {
			if err := send(a.publish, buf, streamed(seq), seq); err != nil {
				return err
			}
		}
		return nil
	})
	flood.within(500 * time.Millisecond) // held up by the slow one, or done
	close(wake)
	flood.must(t)
	// The last message again and again: it may be lost too.
	a.pub.start("send the last message until it has come", func() error {
		buf := make([]byte, 4096)
		for until := time.Now().Add(deadline); time.Now().Before(until); {
			if err := send(a.publish, buf, streamed(n), n); err != nil {
				return err
			}
			if steps[0].within(5*time.Millisecond) && steps[1].within(5*time.Millisecond) {
				break
			}
		}
		return nil
	}).must(t)
	for i, st := range steps {
		st.must(t)
		if lost[i] > 0 && !s.b.Lossy() {
			t.Errorf("subscriber %d misses %d messages, on a transport that does not say so", i+1, lost[i])
		}
	}
	t.Logf("lost %v of %d", lost, n)
}

// testComeAndGo publishes to nobody, to one who comes, and to those who are left.
func (s *broadcastSuite) testComeAndGo(t *testing.T) {
	a := s.open(t, s.options(t, 4096), 0)
	a.pub.start("send to nobody", func() error { return a.publish.Send(make([]byte, 100)) }).must(t)
	for range 2 {
		a.dial(t)
		a.await(t)
	}
	a.subs[0].start("Close", a.subscribed[0].Close).must(t)
	a.subs, a.subscribed = a.subs[1:], a.subscribed[1:]
	a.dial(t)
	a.await(t)
	recv := a.subs[0].start("receive after another has left", func() error {
		for seq := range 50 {
			if err := recvStreamed(a.subscribed[0], 100, seq); err != nil {
				return err
			}
		}
		return nil
	})
	a.pub.start("send after one has left", func() error {
		buf := make([]byte, 100)
		for seq := range 50 {
			if err := send(a.publish, buf, 100, seq); err != nil {
				return err
			}
		}
		return nil
	}).must(t)
	recv.must(t)
	// The listener's end is not the end of those who are connected.
	a.pub.start("Close of the listener", a.l.Close).must(t)
	a.await(t)
	if names := leftIn(a.o.Dir); len(names) != 0 {
		t.Errorf("the closed listener left %q", names)
	}
	if c, err := s.b.DialBroadcast(a.l.Endpoint(), a.o); err == nil {
		c.Close()
		t.Error("DialBroadcast to a closed listener gave no error")
	}
}

// testDirection calls against the direction: an error at once, and no harm done.
func (s *broadcastSuite) testDirection(t *testing.T) {
	a := s.open(t, s.options(t, 4096), 1)
	a.await(t)
	a.pub.start("Recv of the publisher", func() error {
		if _, err := a.publish.Recv(); err == nil {
			return errors.New("no error")
		}
		return nil
	}).must(t)
	a.subs[0].start("Send of a subscriber", func() error {
		if err := a.subscribed[0].Send(make([]byte, 100)); err == nil {
			return errors.New("no error")
		}
		return nil
	}).must(t)
	a.await(t)
}

// testClose closes either side, twice, and calls what is closed.
func (s *broadcastSuite) testClose(t *testing.T) {
	o := s.options(t, 4096)
	for range 2 {
		a := s.open(t, o, 1)
		a.await(t)
		c := a.subscribed[0]
		closes(t, a.subs[0].start("blocked Recv", func() error {
			for {
				if _, err := recvAfterReady(c); err != nil {
					return err
				}
			}
		}), c.Close)
		for _, e := range []struct {
			on *side
			c  transports.Conn
		}{{a.subs[0], c}, {a.pub, a.publish}} {
			e.on.start("Close, Close, Send, Recv", func() error {
				for range 2 {
					if err := e.c.Close(); err != nil {
						return err
					}
				}
				if err := e.c.Send(make([]byte, 40)); !errors.Is(err, transports.ErrClosed) {
					return fmt.Errorf("Send after Close: got error %v, want ErrClosed", err)
				}
				if _, err := e.c.Recv(); !errors.Is(err, transports.ErrClosed) {
					return fmt.Errorf("Recv after Close: got error %v, want ErrClosed", err)
				}
				return nil
			}).must(t)
		}
	}
	l, err := s.b.ListenBroadcast(o)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if c, err := l.Accept(); !errors.Is(err, transports.ErrClosed) {
		if err == nil {
			c.Close()
		}
		t.Errorf("Accept after Close: got error %v, want ErrClosed", err)
	}
	if names := leftIn(o.Dir); len(names) != 0 {
		t.Errorf("a listener without Accept left %q", names)
	}
}

// ends checks that a step ends in time with an error that speaks of the publisher.
func ends(t *testing.T, st *step) {
	t.Helper()
	start := time.Now()
	err := st.wait(t)
	if took := time.Since(start); took > soon {
		t.Errorf("%s: noticed the publisher's end after %v, want at most %v", st.what, took, soon)
	}
	if err == nil || errors.Is(err, transports.ErrClosed) {
		t.Errorf("%s: ended with error %v, want one that speaks of the publisher", st.what, err)
	}
}

// testPublisherCloses closes the publisher right after its last Send: subscribers get what it sent, then the end.
func (s *broadcastSuite) testPublisherCloses(t *testing.T) {
	for _, close := range []string{"publisher", "listener, then publisher"} {
		a := s.open(t, s.options(t, 4096), 3)
		a.await(t)
		n := min(100, a.publish.InFlight(300))
		a.pub.start("send, close "+close, func() error {
			buf := make([]byte, 300)
			for seq := range n {
				if err := send(a.publish, buf, 300, seq); err != nil {
					return err
				}
			}
			if close != "publisher" {
				if err := a.l.Close(); err != nil {
					return err
				}
			}
			return a.publish.Close()
		}).must(t)
		if names := leftIn(a.o.Dir); len(names) != 0 {
			t.Errorf("the closed publisher left %q", names)
		}
		for i, c := range a.subscribed {
			a.subs[i].start("receive what was sent before Close", func() error {
				for seq := range n {
					if err := recvStreamed(c, 300, seq); err != nil {
						return err
					}
				}
				return nil
			}).must(t)
			for range 2 {
				ends(t, a.subs[i].start("Recv after the publisher's Close", func() error { _, err := c.Recv(); return err }))
			}
		}
	}
	// With one who takes nothing.
	a := s.open(t, s.options(t, 64<<10), 2)
	a.await(t)
	flood := a.flood()
	closer := newSide("closing thread", false)
	defer finish(closer)
	if err := closer.start("Close of the publisher", a.publish.Close).waitFor(t, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := flood.wait(t); err != nil && !errors.Is(err, transports.ErrClosed) {
		t.Fatalf("%s: ended by Close with error %v, want ErrClosed", flood.what, err)
	}
	for i, c := range a.subscribed {
		a.subs[i].start("receive until the end", func() error {
			for {
				if _, err := c.Recv(); err != nil {
					return nil
				}
			}
		}).must(t)
	}
}
