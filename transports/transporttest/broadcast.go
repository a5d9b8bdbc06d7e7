package transporttest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"msgbench/transports"
)

// testBroadcast checks a transport's own broadcast.
func (s *suite) testBroadcast(t *testing.T) {
	bs := &broadcastSuite{s, s.tr.(transports.Broadcaster)}
	for _, c := range []struct {
		name string
		f    func(*testing.T)
	}{
		{"options", bs.testOptions},
		{"sizes", bs.testSizes},
		{"everyone", bs.testEveryone},
		{"slow-subscriber", bs.testSlowSubscriber},
		{"come-and-go", bs.testComeAndGo},
		{"direction", bs.testDirection},
		{"close", bs.testClose},
		{"publisher-closes", bs.testPublisherCloses},
		{"publisher-dies", bs.testPublisherDies},
		{"subscriber-dies", bs.testSubscriberDies},
		{"nothing-left", bs.testNothingLeft},
	} {
		t.Run(c.name, c.f)
		if t.Failed() {
			return
		}
	}
}

type broadcastSuite struct {
	*suite
	b transports.Broadcaster
}

// options are those of a test whose largest message is max bytes.
func (s *broadcastSuite) options(t *testing.T, max int) transports.Options {
	t.Helper()
	o := s.suite.options(t, transports.Stream)
	o.MaxMessage, o.Depth = max, 0
	return o
}

// audience is a publisher and its subscribers within this process.
type audience struct {
	s          *broadcastSuite
	o          transports.Options
	l          transports.Listener
	pub        *side
	publish    transports.Conn
	subs       []*side
	subscribed []transports.Conn
}

// gather makes an audience of n that the caller ends.
func (s *broadcastSuite) gather(t *testing.T, o transports.Options, n int) *audience {
	t.Helper()
	a := &audience{s: s, o: o, pub: newSide("publisher", s.info.LockThread)}
	a.pub.start("ListenBroadcast", func() (err error) { a.l, err = s.b.ListenBroadcast(o); return }).must(t)
	a.pub.start("Accept, which returns at once", func() (err error) { a.publish, err = a.l.Accept(); return }).must(t)
	for range n {
		a.dial(t)
	}
	return a
}

// open makes an audience that ends with the test.
func (s *broadcastSuite) open(t *testing.T, o transports.Options, n int) *audience {
	t.Helper()
	a := s.gather(t, o, n)
	t.Cleanup(func() { a.end(t) })
	return a
}

// dial connects one more subscriber.
func (a *audience) dial(t *testing.T) {
	t.Helper()
	sub := newSide(fmt.Sprint("subscriber ", len(a.subs)+1), a.s.info.LockThread)
	var c transports.Conn
	sub.start("DialBroadcast", func() (err error) { c, err = a.s.b.DialBroadcast(a.l.Endpoint(), a.o); return }).must(t)
	a.subs, a.subscribed = append(a.subs, sub), append(a.subscribed, c)
}

// readySize is the size in bytes of the messages that await sends, and that skipReady skips. No other has it.
const readySize = 61

// await sends until every subscriber has received a message: only then are all connected.
func (a *audience) await(t *testing.T) {
	t.Helper()
	var steps []*step
	for i, c := range a.subscribed {
		steps = append(steps, a.subs[i].start("receive something", func() error { _, err := c.Recv(); return err }))
	}
	announced(t, a.pub, a.publish, steps)
}

// announced sends messages of readySize until the steps have ended.
func announced(t *testing.T, pub *side, c transports.Conn, steps []*step) {
	t.Helper()
	pub.start("send until all have received", func() error {
		for until := time.Now().Add(deadline); ; {
			if err := c.Send(make([]byte, readySize)); err != nil {
				return err
			}
			if !slices.ContainsFunc(steps, func(st *step) bool { return !st.within(2 * time.Millisecond) }) {
				return nil
			}
			if time.Now().After(until) {
				return errors.New("nobody heard")
			}
		}
	}).must(t)
	for _, st := range steps {
		st.must(t)
	}
}

// recvAfterReady receives the next message that await did not send.
func recvAfterReady(c transports.Conn) ([]byte, error) {
	for {
		if got, err := c.Recv(); err != nil || len(got) != readySize {
			return got, err
		}
	}
}

// recvStreamed receives message number seq.
func recvStreamed(c transports.Conn, size, seq int) error {
	got, err := recvAfterReady(c)
	if err != nil {
		return fmt.Errorf("Recv of message %d (%d B): %w", seq, size, err)
	}
	return verify(got, size, seq)
}

// end closes all, from a thread that no side uses.
func (a *audience) end(t *testing.T) {
	t.Helper()
	closer := newSide("closing thread", false)
	closer.start("Close of the listener", a.l.Close).must(t)
	closer.start("Close of the publisher", a.publish.Close).must(t)
	for i, c := range a.subscribed {
		closer.start(fmt.Sprint("Close of subscriber ", i+1), c.Close).must(t)
	}
	for _, s := range append([]*side{closer, a.pub}, a.subs...) {
		st := s.start("end", func() error { return nil })
		close(s.jobs)
		st.must(t)
		<-s.done
	}
	if names := leftIn(a.o.Dir); len(names) != 0 {
		t.Errorf("the closed broadcast left %q", names)
	}
}

// testOptions offers options that no adapter may accept.
func (s *broadcastSuite) testOptions(t *testing.T) {
	dir := shortDir(t)
	for _, o := range []transports.Options{{Dir: dir, Wait: "no-such-wait"}, {Dir: dir, MaxMessage: s.info.MaxMessage + 1}} {
		if l, err := s.b.ListenBroadcast(o); err == nil {
			l.Close()
			t.Errorf("ListenBroadcast(%+v) gave no error", o)
		}
		if c, err := s.b.DialBroadcast("", o); err == nil {
			c.Close()
			t.Errorf("DialBroadcast with %+v gave no error", o)
		}
	}
	if names := leftIn(dir); len(names) != 0 {
		t.Errorf("a refused ListenBroadcast left %q", names)
	}
}

// testSizes sends messages of all sizes, each once the one before has come, out of a buffer that is reused at once.
func (s *broadcastSuite) testSizes(t *testing.T) {
	a := s.open(t, s.options(t, s.largest()), 2)
	a.await(t)
	buf := make([]byte, s.largest())
	for seq, size := range slices.Concat(s.sizes(), s.sizes()) {
		steps := []*step{a.pub.start("send", func() error { return send(a.publish, buf, size, seq) })}
		for i, c := range a.subscribed {
			steps = append(steps, a.subs[i].start("receive", func() error { return recvStreamed(c, size, seq) }))
		}
		for _, st := range steps {
			st.must(t)
		}
	}
	a.pub.start("send what is too large", func() error {
		if err := a.publish.Send(make([]byte, s.largest()+1)); !errors.Is(err, transports.ErrTooLarge) {
			return fmt.Errorf("got error %v, want ErrTooLarge", err)
		}
		return nil
	}).must(t)
}

// streamed is the size of message seq of a stream.
func streamed(seq int) int { return 70 + seq%5*300 }

// testEveryone has each of several subscribers receive each message, where no queue needs to be longer than 32.
func (s *broadcastSuite) testEveryone(t *testing.T) {
	const n, ahead = 5000, 32
	a := s.open(t, s.options(t, 4096), 4)
	a.await(t)
	var got [4]atomic.Int64
	var steps []*step
	for i, c := range a.subscribed {
		steps = append(steps, a.subs[i].start("receive all", func() error {
			for seq := range n {
				if err := recvStreamed(c, streamed(seq), seq); err != nil {
					return err
				}
				got[i].Add(1)
			}
			return nil
		}))
	}
	a.pub.start("send", func() error {
		buf := make([]byte, 4096)
		until := time.Now().Add(deadline)
		for seq := range n {
			for i := range got {
				for int64(seq)-got[i].Load() >= ahead && time.Now().Before(until) {
					time.Sleep(20 * time.Microsecond)
				}
			}
			if err := send(a.publish, buf, streamed(seq), seq); err != nil {
				return err
			}
		}
		return nil
	}).must(t)
	for _, st := range steps {
		st.must(t)
	}
	for _, c := range append(slices.Clone(a.subscribed), a.publish) {
		if len(c.Facts()) == 0 {
			t.Error("a side has no facts")
		}
	}
}

// tally receives messages until the one numbered last comes, and returns how many are missing before it. What comes must be
// whole and in order.
func tally(c transports.Conn, last int) (lost int, err error) {
	for next := 0; ; {
		msg, err := recvAfterReady(c)
		if err != nil {
			return lost, err
		}
		if len(msg) < 8 {
			return lost, fmt.Errorf("a message of %d B after message %d", len(msg), next-1)
		}
		seq := seqOf(msg)
		if seq < next || seq > last {
			return lost, fmt.Errorf("message %d where %d or a later one may come", seq, next)
		}
		if err := verify(msg, streamed(seq), seq); err != nil {
			return lost, err
		}
		lost += seq - next
		next = seq + 1
		if seq == last {
			return lost, nil
		}
	}
}
