package transporttest

import (
	"runtime"
	"testing"
	"time"

	"msgbench/transports"
)

// deadline is how long a step may take before it counts as hung. Generous: steps take milliseconds, machines are loaded.
var deadline = 20 * time.Second

// side is a thread of control: it runs what it is told in order, on one locked thread where the transport wants that.
type side struct {
	name string
	jobs chan func()
	done chan struct{}
}

func newSide(name string, lock bool) *side {
	s := &side{name: name, jobs: make(chan func(), 16), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		if lock {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		}
		for f := range s.jobs {
			f()
		}
	}()
	return s
}

// step is one piece of work under way on a side.
type step struct {
	what string
	err  error
	done chan struct{}
}

// start runs f on the side, after what it was told before.
func (s *side) start(what string, f func() error) *step {
	st := &step{what: s.name + ": " + what, done: make(chan struct{})}
	s.jobs <- func() {
		defer close(st.done)
		st.err = f()
	}
	return st
}

// within tells whether the step ends within d.
func (st *step) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-st.done:
		return true
	case <-timer.C:
		return false
	}
}

// wait returns the step's error; a step that hangs fails the test with the stacks of all goroutines.
func (st *step) wait(t *testing.T) error {
	t.Helper()
	return st.waitFor(t, deadline)
}

func (st *step) waitFor(t *testing.T, d time.Duration) error {
	t.Helper()
	if !st.within(d) {
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s: not done after %v\n\n%s", st.what, d, stacks[:runtime.Stack(stacks, true)])
	}
	return st.err
}

// must waits for the step and fails the test on its error.
func (st *step) must(t *testing.T) {
	t.Helper()
	if err := st.wait(t); err != nil {
		t.Fatalf("%s: %v", st.what, err)
	}
}

// pair is a connection within this process: the dialing side and the listening side.
type pair struct {
	dialer, listener *side
	dial, accept     transports.Conn
	dir              string
}

// connect makes a pair, and has it closed when the test ends.
func (s *suite) connect(t *testing.T, o transports.Options) *pair {
	t.Helper()
	p := s.connectKept(t, o)
	t.Cleanup(func() { p.end(t) })
	return p
}

// connectKept makes a pair that the caller ends.
func (s *suite) connectKept(t *testing.T, o transports.Options) *pair {
	t.Helper()
	p := &pair{dialer: newSide("dialing side", s.info.LockThread), listener: newSide("listening side", s.info.LockThread), dir: o.Dir}
	var l transports.Listener
	p.listener.start("Listen", func() (err error) { l, err = s.tr.Listen(o); return }).must(t)
	accept := p.listener.start("Accept", func() (err error) { p.accept, err = l.Accept(); return })
	dial := p.dialer.start("Dial "+l.Endpoint(), func() (err error) { p.dial, err = s.tr.Dial(l.Endpoint(), o); return })
	dial.must(t)
	accept.must(t)
	if names := leftIn(o.Dir); len(names) != 0 {
		t.Errorf("Accept has returned and the folder still holds %q", names)
	}
	// At once: a listener's Close must not touch the connection.
	p.listener.start("Listener.Close", l.Close).must(t)
	return p
}

// end closes both connections from a thread that neither side uses, and ends the sides.
func (p *pair) end(t *testing.T) {
	t.Helper()
	closer := newSide("closing thread", false)
	closer.start("Close of the dialing side", p.dial.Close).must(t)
	closer.start("Close of the listening side", p.accept.Close).must(t)
	for _, s := range []*side{closer, p.dialer, p.listener} {
		st := s.start("end", func() error { return nil })
		close(s.jobs)
		st.must(t)
		<-s.done
	}
}
