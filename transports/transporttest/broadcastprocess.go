package transporttest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"msgbench/transports"
)

// flood sends what nobody reads, more than any buffer takes. Where it blocks, the step goes on until Close.
func (a *audience) flood() *step {
	st := a.pub.start("flood", func() error {
		for range 500 {
			if err := a.publish.Send(make([]byte, 64<<10)); err != nil {
				return err
			}
		}
		return nil
	})
	st.within(500 * time.Millisecond)
	return st
}

// testNothingLeft makes and closes broadcasts, and compares descriptors and goroutines.
func (s *broadcastSuite) testNothingLeft(t *testing.T) {
	o := s.options(t, 64<<10)
	once := func() {
		for n := range 3 {
			a := s.gather(t, o, n)
			if n > 1 {
				a.await(t)
				a.flood()
			}
			a.end(t)
		}
		l, err := s.b.ListenBroadcast(o)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.b.DialBroadcast(l.Endpoint(), o)
		if err != nil {
			t.Fatal(err)
		}
		l.Close() // while the subscriber is just coming in
		c.Close()
	}
	once()
	files, goroutines := resources()
	for range 3 {
		once()
	}
	for until := time.Now().Add(2 * soon); ; time.Sleep(5 * time.Millisecond) {
		files2, goroutines2 := resources()
		if files2 <= files && goroutines2 <= goroutines {
			return
		}
		if time.Now().After(until) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("after 3 more rounds of broadcasts there are %d file descriptors (before: %d) and %d goroutines (before: %d)\n\n%s",
				files2, files, goroutines2, goroutines, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// broadcastLife is what a child does with a task that is one of a broadcast: it listens or dials, sends or receives until
// it is killed.
func broadcastLife(b transports.Broadcaster, task childTask) error {
	if task.Endpoint != "" {
		c, err := b.DialBroadcast(task.Endpoint, task.Options)
		if err != nil {
			return err
		}
		for first := true; ; first = false {
			if _, err := c.Recv(); err != nil {
				return err
			}
			if first {
				fmt.Println(childPrefix + "connected")
			}
		}
	}
	l, err := b.ListenBroadcast(task.Options)
	if err != nil {
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	fmt.Println(childPrefix + l.Endpoint())
	for {
		if err := c.Send(make([]byte, readySize)); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// testPublisherDies kills the publisher.
func (s *broadcastSuite) testPublisherDies(t *testing.T) {
	o := s.options(t, 4096)
	ch := startChild(t, childTask{Options: o, Broadcast: true})
	endpoint := ch.line(t)
	var steps []*step
	for i := range 2 {
		sub := newSide(fmt.Sprint("subscriber ", i+1), s.info.LockThread)
		t.Cleanup(func() { finish(sub) })
		var c transports.Conn
		sub.start("DialBroadcast", func() (err error) { c, err = s.b.DialBroadcast(endpoint, o); return }).must(t)
		t.Cleanup(func() { c.Close() })
		sub.start("receive something", func() error { _, err := c.Recv(); return err }).must(t)
		steps = append(steps, sub.start("receive from a process that dies", func() error { _, err := recvAfterReady(c); return err }))
	}
	ch.kill()
	for _, st := range steps {
		ends(t, st)
	}
	for _, name := range leftIn(o.Dir) {
		os.Remove(filepath.Join(o.Dir, name)) // nobody was left to do it
	}
}

// testSubscriberDies kills a subscriber: the publisher and the other go on.
func (s *broadcastSuite) testSubscriberDies(t *testing.T) {
	a := s.open(t, s.options(t, 4096), 1)
	a.await(t)
	ch := startChild(t, childTask{Endpoint: a.l.Endpoint(), Options: a.o, Broadcast: true})
	arrived := newSide("the other process", false)
	defer finish(arrived)
	announced(t, a.pub, a.publish, []*step{arrived.start("receive something", func() error { ch.line(t); return nil })})
	ch.kill()
	for range 3 {
		a.await(t)
		time.Sleep(blockFor)
	}
}
