package transporttest

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"msgbench/transports"
)

// soon is how long a blocked call may take to end after Close or after the peer's death.
const soon = time.Second

// blockFor is how long a call must not return before it counts as blocked.
const blockFor = 20 * time.Millisecond

// closes checks that a blocked step ends with ErrClosed once close is called from another thread.
func closes(t *testing.T, blocked *step, close func() error) {
	t.Helper()
	if blocked.within(blockFor) {
		t.Fatalf("%s: returned at once with error %v instead of blocking", blocked.what, blocked.err)
	}
	closer := newSide("closing thread", false)
	st := closer.start("Close of "+blocked.what, close)
	st.must(t)
	end := closer.start("end", func() error { return nil })
	end.must(t)
	defer func() { <-closer.done }()
	defer func() { finish(closer) }()
	if err := blocked.waitFor(t, soon+deadline/10); !errors.Is(err, transports.ErrClosed) {
		t.Fatalf("%s: ended by Close with error %v, want ErrClosed", blocked.what, err)
	}
}

func finish(s *side) { close(s.jobs) }

func (s *suite) testCloseAccept(t *testing.T) {
	o := s.options(t, transports.RequestReply)
	for range 2 {
		owner := newSide("listening side", s.info.LockThread)
		var l transports.Listener
		owner.start("Listen", func() (err error) { l, err = s.tr.Listen(o); return }).must(t)
		accept := owner.start("Accept", func() error {
			c, err := l.Accept()
			if err == nil {
				c.Close()
			}
			return err
		})
		closes(t, accept, l.Close)
		owner.start("second Listener.Close", l.Close).must(t)
		if !s.info.Silent {
			dialer := newSide("dialing side", s.info.LockThread)
			st := dialer.start("Dial to a closed listener", func() error {
				c, err := s.tr.Dial(l.Endpoint(), o)
				if err == nil {
					c.Close()
				}
				return err
			})
			if err := st.wait(t); err == nil {
				t.Errorf("Dial to a closed listener gave no error")
			}
			finish(dialer)
		}
		finish(owner)
	}
	// Closed before Accept.
	owner := newSide("listening side", s.info.LockThread)
	defer finish(owner)
	owner.start("Listen, Close, Accept", func() error {
		l, err := s.tr.Listen(o)
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
		if c, err := l.Accept(); !errors.Is(err, transports.ErrClosed) {
			if err == nil {
				c.Close()
			}
			return fmt.Errorf("Accept after Close: got error %v, want ErrClosed", err)
		}
		return nil
	}).must(t)
	if names := leftIn(o.Dir); len(names) != 0 {
		t.Errorf("Listener.Close without a peer left %q", names)
	}
}

// testCloseRecv closes a connection whose Recv is blocked, at either end, fresh and used.
func (s *suite) testCloseRecv(t *testing.T) {
	for _, used := range []int{0, 3} {
		p := s.connect(t, s.options(t, transports.RequestReply))
		s.use(t, p, used)
		closes(t, p.listener.start("blocked Recv", func() error { _, err := p.accept.Recv(); return err }), p.accept.Close)

		p = s.connect(t, s.options(t, transports.Pipelined))
		s.use(t, p, used)
		closes(t, p.dialer.start("blocked Recv", func() error { _, err := p.dial.Recv(); return err }), p.dial.Close)
	}
}

// use exchanges n messages, so that a connection is not fresh.
func (s *suite) use(t *testing.T, p *pair, n int) {
	t.Helper()
	server := p.listener.start("echo", func() error { return echo(p.accept, n) })
	p.dialer.start("ask", func() error { return window(p.dial, n, 1, func(int) int { return 40 }) }).must(t)
	server.must(t)
}

// testCloseSend closes a connection whose Send is blocked because nobody receives.
func (s *suite) testCloseSend(t *testing.T) {
	for _, size := range []int{40, 4096, 256 << 10} {
		size = min(size, s.largest())
		p := s.connect(t, s.options(t, transports.Stream))
		if blocked := s.blockSend(t, p.dialer, p.dial, size); blocked != nil {
			closes(t, blocked, p.dial.Close)
		}
	}
}

// blockSend starts a step that sends until it blocks; nil if the transport buffers without an end in sight.
func (s *suite) blockSend(t *testing.T, from *side, c transports.Conn, size int) *step {
	t.Helper()
	const limit = 64 << 20
	var sent atomic.Int64
	st := from.start(fmt.Sprintf("blocked Send of %d B", size), func() error {
		buf := make([]byte, size)
		for range limit / size {
			if err := c.Send(buf); err != nil {
				return err
			}
			sent.Add(1)
		}
		return errUnbounded
	})
	for last := int64(-1); ; {
		if st.within(2 * blockFor) {
			if st.err == errUnbounded {
				t.Logf("Send took %d messages of %d B without blocking: this transport has no back-pressure", sent.Load(), size)
				return nil
			}
			t.Fatalf("%s: failed after %d messages: %v", st.what, sent.Load(), st.err)
		}
		n := sent.Load()
		if n == last {
			return st
		}
		last = n
	}
}

var errUnbounded = errors.New("never blocked")

// testCloseTwice closes twice, and calls what is closed.
func (s *suite) testCloseTwice(t *testing.T) {
	p := s.connect(t, s.options(t, transports.RequestReply))
	s.use(t, p, 1)
	for _, e := range []struct {
		on *side
		c  transports.Conn
	}{{p.dialer, p.dial}, {p.listener, p.accept}} {
		e.on.start("Close, Close, Send, Recv", func() error {
			for i := range 2 {
				if err := e.c.Close(); err != nil {
					return fmt.Errorf("Close number %d: %w", i+1, err)
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

// testPeerCloses closes one side right after its last Send: the other gets all that was sent, then io.EOF. A transport
// that is silent about its peer may block instead of io.EOF.
func (s *suite) testPeerCloses(t *testing.T) {
	const n, size = 100, 300
	t.Run("dialing-side", func(t *testing.T) {
		p := s.connect(t, s.options(t, transports.Stream))
		p.dialer.start("send and Close", func() error {
			buf := make([]byte, size)
			for i := range min(n, p.dial.InFlight(size)) {
				if err := send(p.dial, buf, size, i); err != nil {
					return err
				}
			}
			return p.dial.Close()
		}).must(t)
		s.drain(t, p.listener, p.accept, min(n, p.accept.InFlight(size)), size)
	})
	t.Run("listening-side", func(t *testing.T) {
		p := s.connect(t, s.options(t, transports.Pipelined))
		k := min(n, p.dial.InFlight(size), p.accept.InFlight(size))
		p.dialer.start("send requests", func() error {
			buf := make([]byte, size)
			for i := range k {
				if err := send(p.dial, buf, size, i); err != nil {
					return err
				}
			}
			return nil
		}).must(t)
		p.listener.start("echo and Close", func() error { return errors.Join(echo(p.accept, k), p.accept.Close()) }).must(t)
		s.drain(t, p.dialer, p.dial, k, size)
		if s.info.Silent {
			return
		}
		p.dialer.start("Send to a closed peer until it fails", func() error {
			for until := time.Now().Add(soon); time.Now().Before(until); {
				if err := p.dial.Send(make([]byte, size)); err != nil {
					return nil
				}
			}
			return fmt.Errorf("no error within %v", soon)
		}).must(t)
	})
}

// drain receives what a closed peer had sent, and its end.
func (s *suite) drain(t *testing.T, on *side, c transports.Conn, n, size int) {
	t.Helper()
	on.start("receive what was sent before the peer's Close", func() error {
		for i := range n {
			if err := recv(c, size, i); err != nil {
				return err
			}
		}
		return nil
	}).must(t)
	end := on.start("Recv after the peer's Close", func() error { _, err := c.Recv(); return err })
	if s.info.Silent && !end.within(soon) {
		closes(t, end, c.Close)
		return
	}
	if err := end.waitFor(t, soon+deadline/10); err != io.EOF && !errors.Is(err, io.EOF) {
		t.Fatalf("%s: got error %v, want io.EOF", end.what, err)
	}
}
