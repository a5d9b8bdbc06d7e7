package transporttest

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"msgbench/transports"
)

// resources counts what a connection may leave behind in this process.
func resources() (files, goroutines int) {
	entries, _ := os.ReadDir("/proc/self/fd") // one more than there are, each time: the folder itself
	return len(entries), runtime.NumGoroutine()
}

// testNothingLeft makes and closes connections and listeners, and compares files, descriptors and goroutines.
func (s *suite) testNothingLeft(t *testing.T) {
	o := s.options(t, transports.Pipelined)
	once := func() {
		for _, messages := range []int{0, 3} {
			p := s.connectKept(t, o)
			s.use(t, p, messages)
			p.end(t)
		}
		// Unread messages, and calls that are blocked when Close comes.
		p := s.connectKept(t, o)
		p.dialer.start("send what nobody reads", func() error { return p.dial.Send(make([]byte, 40)) }).must(t)
		blocked := p.dialer.start("blocked Recv", func() error { _, err := p.dial.Recv(); return err })
		blocked.within(blockFor / 5)
		p.end(t)
		<-blocked.done
		owner := newSide("listening side", s.info.LockThread)
		owner.start("Listen and Close", func() error {
			l, err := s.tr.Listen(o)
			if err != nil {
				return err
			}
			return l.Close()
		}).must(t)
		finish(owner)
		<-owner.done
	}
	once() // what the runtime and the adapter make once and keep: the poller's descriptors, pools
	files, goroutines := resources()
	for range 3 {
		once()
	}
	var files2, goroutines2 int
	for until := time.Now().Add(2 * soon); ; time.Sleep(5 * time.Millisecond) {
		files2, goroutines2 = resources()
		if files2 <= files && goroutines2 <= goroutines {
			break
		}
		if time.Now().After(until) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("after 3 more rounds of connections there are %d file descriptors (before: %d) and %d goroutines (before: %d)\n\n%s",
				files2, files, goroutines2, goroutines, stacks[:runtime.Stack(stacks, true)])
		}
	}
	if names := leftIn(o.Dir); len(names) != 0 {
		t.Errorf("the closed connections left %q", names)
	}
}

// testAllocs counts allocations of a warm connection.
func (s *suite) testAllocs(t *testing.T) {
	for _, size := range []int{0, 40, 4096, 32 << 10} {
		p := s.connect(t, s.options(t, transports.Pipelined))
		var allocs float64
		p.dialer.start(fmt.Sprintf("count allocations at %d B", size), func() (err error) {
			msg := make([]byte, size)
			round := func() {
				for _, c := range [2][2]transports.Conn{{p.dial, p.accept}, {p.accept, p.dial}} {
					if e := c[0].Send(msg); e != nil {
						err = e
					}
					if _, e := c[1].Recv(); e != nil {
						err = e
					}
				}
			}
			for range 100 {
				round()
			}
			allocs = testing.AllocsPerRun(200, round)
			return err
		}).must(t)
		if allocs != 0 {
			t.Errorf("%v allocations for each two messages of %d B, want none", allocs, size)
		}
	}
}
