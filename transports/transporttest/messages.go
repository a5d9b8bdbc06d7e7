package transporttest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"msgbench/transports"
)

// testSizes sends each size there and back, and one way.
func (s *suite) testSizes(t *testing.T) {
	sizes := s.sizes()
	t.Run("request-reply", func(t *testing.T) {
		p := s.connect(t, s.options(t, transports.RequestReply))
		server := p.listener.start("echo all sizes", func() error { return echo(p.accept, 2*len(sizes)) })
		p.dialer.start("request and reply in all sizes", func() error {
			buf := make([]byte, s.largest())
			for i := range 2 * len(sizes) {
				size := sizes[i%len(sizes)]
				if err := send(p.dial, buf, size, i); err != nil {
					return err
				}
				if err := recv(p.dial, size, i); err != nil {
					return err
				}
			}
			return nil
		}).must(t)
		server.must(t)
	})
	t.Run("stream", func(t *testing.T) {
		p := s.connect(t, s.options(t, transports.Stream))
		// Steps of 3 through the sizes, so that small and large ones meet in changing order.
		size := func(i int) int { return sizes[i*3%len(sizes)] }
		s.stream(t, p, 3*len(sizes), size, nil)
	})
}

// stream sends n messages from the dialing to the listening side; slow, if given, is called before each Recv.
func (s *suite) stream(t *testing.T, p *pair, n int, size func(i int) int, slow func(i int)) {
	t.Helper()
	sent := p.dialer.start(fmt.Sprintf("stream %d messages", n), func() error {
		buf := make([]byte, s.largest())
		for i := range n {
			if err := send(p.dial, buf, size(i), i); err != nil {
				return err
			}
		}
		return nil
	})
	p.listener.start(fmt.Sprintf("receive %d streamed messages", n), func() error {
		for i := range n {
			if slow != nil {
				slow(i)
			}
			if err := recv(p.accept, size(i), i); err != nil {
				return err
			}
		}
		return nil
	}).must(t)
	sent.must(t)
}

// testOrder sends thousands of messages in each pattern.
func (s *suite) testOrder(t *testing.T) {
	size := func(i int) int { return 40 + i%7*100 }
	t.Run("request-reply", func(t *testing.T) {
		n := s.count(4000)
		p := s.connect(t, s.options(t, transports.RequestReply))
		server := p.listener.start("echo", func() error { return echo(p.accept, n) })
		p.dialer.start("ping-pong", func() error { return window(p.dial, n, 1, size) }).must(t)
		server.must(t)
	})
	t.Run("pipelined", func(t *testing.T) {
		n := s.count(8000)
		p := s.connect(t, s.options(t, transports.Pipelined))
		depth := min(16, p.dial.InFlight(640), p.accept.InFlight(640))
		server := p.listener.start("echo", func() error { return echo(p.accept, n) })
		p.dialer.start("pipeline", func() error { return window(p.dial, n, depth, size) }).must(t)
		server.must(t)
	})
	t.Run("stream", func(t *testing.T) {
		s.stream(t, s.connect(t, s.options(t, transports.Stream)), 10000, size, nil)
	})
}

// window sends n messages and receives their echoes with depth of them in flight.
func window(c transports.Conn, n, depth int, size func(i int) int) error {
	buf := make([]byte, 64<<10)
	for i := range n + depth {
		if i >= depth {
			if err := recv(c, size(i-depth), i-depth); err != nil {
				return err
			}
		}
		if i < n {
			if err := send(c, buf, size(i), i); err != nil {
				return err
			}
		}
	}
	return nil
}

// testSlowReceiver fills all buffers: the sender has to wait or to keep the messages, and nothing may be lost.
func (s *suite) testSlowReceiver(t *testing.T) {
	p := s.connect(t, s.options(t, transports.Stream))
	s.stream(t, p, 600, func(i int) int { return 16<<10 + i%5*1000 }, func(i int) {
		if i == 0 {
			time.Sleep(50 * time.Millisecond)
		} else if i%100 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	})
	p = s.connect(t, s.options(t, transports.Stream))
	s.stream(t, p, 20000, func(i int) int { return 40 }, func(i int) {
		if i%5000 == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// testReceivedSlice writes into what Recv returned while more messages arrive.
func (s *suite) testReceivedSlice(t *testing.T) {
	for _, size := range []int{40, 4096, 64 << 10} {
		p := s.connect(t, s.options(t, transports.Stream))
		const n = 50
		sent := p.dialer.start("stream", func() error {
			buf := make([]byte, size)
			for i := range n {
				if err := send(p.dial, buf, size, i); err != nil {
					return err
				}
			}
			return nil
		})
		p.listener.start("keep and overwrite each received message", func() error {
			mine := bytes.Repeat([]byte{0xa5}, size)
			for i := range n {
				got, err := p.accept.Recv()
				if err != nil {
					return err
				}
				before := bytes.Clone(got)
				if i%10 == 0 {
					time.Sleep(2 * time.Millisecond) // time for what follows to arrive
				}
				if err := verify(got, size, i); err != nil {
					return fmt.Errorf("before the next Recv: %w (when received: %v)", err, verify(before, size, i))
				}
				copy(got, mine)
				if i%10 == 0 {
					time.Sleep(2 * time.Millisecond)
				}
				if !bytes.Equal(got, mine) {
					return fmt.Errorf("message %d: what was written into the received slice changed before the next Recv", i)
				}
			}
			return nil
		}).must(t)
		sent.must(t)
	}
}

// testIdle lets both sides wait long enough that each strategy that sleeps is asleep when the message comes.
func (s *suite) testIdle(t *testing.T) {
	p := s.connect(t, s.options(t, transports.RequestReply))
	const n = 8
	server := p.listener.start("echo late", func() error {
		for i := range n {
			got, err := p.accept.Recv()
			if err != nil {
				return fmt.Errorf("Recv of message %d after a pause: %w", i, err)
			}
			time.Sleep(time.Duration(i) * 2 * time.Millisecond)
			if err := p.accept.Send(got); err != nil {
				return err
			}
		}
		return nil
	})
	p.dialer.start("ask after pauses", func() error {
		buf := make([]byte, 40)
		for i := range n {
			time.Sleep(time.Duration(i) * 2 * time.Millisecond)
			if err := send(p.dial, buf, 40, i); err != nil {
				return err
			}
			if err := recv(p.dial, 40, i); err != nil {
				return err
			}
		}
		return nil
	}).must(t)
	server.must(t)
}

// testTooLarge sends one byte too much; the connection must go on working.
func (s *suite) testTooLarge(t *testing.T) {
	o := s.options(t, transports.RequestReply)
	o.MaxMessage = 1000
	p := s.connect(t, o)
	server := p.listener.start("echo", func() error { return echo(p.accept, 1) })
	p.dialer.start("Send over MaxMessage, then one of MaxMessage", func() error {
		if err := p.dial.Send(make([]byte, 1001)); !errors.Is(err, transports.ErrTooLarge) {
			return fmt.Errorf("Send of 1001 B with MaxMessage 1000: got error %v, want ErrTooLarge", err)
		}
		if err := send(p.dial, make([]byte, 1000), 1000, 7); err != nil {
			return err
		}
		return recv(p.dial, 1000, 7)
	}).must(t)
	server.must(t)
}

func (s *suite) testFacts(t *testing.T) {
	p := s.connect(t, s.options(t, transports.RequestReply))
	for _, c := range []transports.Conn{p.dial, p.accept} {
		facts := c.Facts()
		if facts == nil {
			t.Error("Facts returned nil: an empty map if there is nothing to say")
		}
		for k, v := range facts {
			if k == "" || v == "" || strings.ContainsAny(k+v, "\r\n;") {
				t.Errorf("fact %q=%q is empty or has a line break or semicolon", k, v)
			}
		}
	}
}
