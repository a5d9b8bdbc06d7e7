package transporttest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"msgbench/transports"
)

// testDuplex sends from one goroutine while another receives on the same connection.
func (s *suite) testDuplex(t *testing.T) {
	p := s.connect(t, s.options(t, transports.Pipelined))
	n := s.count(4000)
	size := func(i int) int { return 40 + i%5*300 }
	server := p.listener.start("echo", func() error { return echo(p.accept, n) })
	second := newSide("dialing side's receiver", s.info.LockThread)
	defer close(second.jobs)
	received := second.start("receive", func() error {
		for i := range n {
			if err := recv(p.dial, size(i), i); err != nil {
				return err
			}
		}
		return nil
	})
	p.dialer.start("send while another goroutine receives", func() error {
		buf := make([]byte, 4096)
		for i := range n {
			if err := send(p.dial, buf, size(i), i); err != nil {
				return err
			}
		}
		return nil
	}).must(t)
	received.must(t)
	server.must(t)
}

// testTwoAtOnce has two connections in one folder: their messages must not meet.
func (s *suite) testTwoAtOnce(t *testing.T) {
	o := s.options(t, transports.RequestReply)
	var ls [2]transports.Listener
	owner := newSide("listeners", s.info.LockThread)
	defer close(owner.jobs)
	owner.start("Listen twice in one folder", func() (err error) {
		for i := range ls {
			if ls[i], err = s.tr.Listen(o); err != nil {
				return err
			}
		}
		return nil
	}).must(t)
	if ls[0].Endpoint() == ls[1].Endpoint() {
		t.Fatalf("two listeners have the same endpoint %q", ls[0].Endpoint())
	}
	var steps []*step
	for i, l := range ls {
		if e := l.Endpoint(); e == "" || strings.ContainsAny(e, " \t\r\n") {
			t.Errorf("endpoint %q is not one word", e)
		}
		server := newSide(fmt.Sprint("server ", i), s.info.LockThread)
		defer close(server.jobs)
		steps = append(steps, server.start("accept and echo", func() error {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			defer c.Close()
			return echo(c, 50)
		}))
	}
	for i, l := range ls {
		client := newSide(fmt.Sprint("client ", i), s.info.LockThread)
		defer close(client.jobs)
		steps = append(steps, client.start("dial and ask", func() error {
			c, err := s.tr.Dial(l.Endpoint(), o)
			if err != nil {
				return err
			}
			defer c.Close()
			return window(c, 50, 1, func(int) int { return 40 + 8*i })
		}))
	}
	for _, st := range steps {
		st.must(t)
	}
	if names := leftIn(o.Dir); len(names) != 0 {
		t.Errorf("both connections were accepted and the folder still holds %q", names)
	}
	owner.start("Listener.Close of both", func() error { return errors.Join(ls[0].Close(), ls[1].Close()) }).must(t)
}
