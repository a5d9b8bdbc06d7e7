package transporttest

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"msgbench/transports"
)

// TestBroadcastReference runs the broadcast part on the simplest publisher that passes it.
func TestBroadcastReference(t *testing.T) { runBroadcast(t, &refBroadcaster{}) }

func runBroadcast(t *testing.T, r *refBroadcaster) {
	if os.Getenv(childEnv) != "" {
		runChild(r)
	}
	(&suite{tr: r, info: r.Info(), wait: transports.Block}).testBroadcast(t)
}

// refBroadcaster writes each message to one connection after the other. What spoils it is in its functions.
type refBroadcaster struct {
	reference
	spoilPublisher  func(*refPublisher) transports.Conn
	spoilSubscriber func(refSubscriber) transports.Conn
}

func (r *refBroadcaster) Lossy() bool { return false }

func (r *refBroadcaster) ListenBroadcast(o transports.Options) (transports.Listener, error) {
	l, err := r.Listen(o)
	if err != nil {
		return nil, err
	}
	p := &refPublisher{l: l.(*refListener)}
	p.serving.Go(p.serve)
	return &refStage{refListener: l.(*refListener), r: r, p: p}, nil
}

func (r *refBroadcaster) DialBroadcast(endpoint string, o transports.Options) (transports.Conn, error) {
	c, err := r.Dial(endpoint, o)
	if err != nil {
		return nil, err
	}
	s := refSubscriber{c.(*refConn)}
	if r.spoilSubscriber != nil {
		return r.spoilSubscriber(s), nil
	}
	return s, nil
}

// refStage is the listener: its Accept returns the publisher.
type refStage struct {
	*refListener
	r     *refBroadcaster
	p     *refPublisher
	given bool
}

func (l *refStage) Accept() (transports.Conn, error) {
	if l.given = !l.p.isShut(); !l.given {
		return nil, transports.ErrClosed
	}
	if l.r.spoilPublisher != nil {
		return l.r.spoilPublisher(l.p), nil
	}
	return l.p, nil
}

func (l *refStage) Close() error {
	if !l.given {
		return l.p.Close()
	}
	l.p.shutter.Do(l.p.shut)
	return nil
}

type refPublisher struct {
	l       *refListener
	serving sync.WaitGroup
	shutter sync.Once

	mu             sync.Mutex
	conns          []*refConn
	shutting, over bool
}

func (p *refPublisher) serve() {
	for {
		c, err := p.l.l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.conns = append(p.conns, &refConn{Conn: c, max: p.l.o.MaxMessage})
		p.mu.Unlock()
	}
}

func (p *refPublisher) shut() {
	p.mu.Lock()
	p.shutting = true
	p.mu.Unlock()
	p.l.Close()
	p.serving.Wait()
}

func (p *refPublisher) isShut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shutting
}

func (p *refPublisher) Send(msg []byte) error {
	p.mu.Lock()
	conns, over := slices.Clone(p.conns), p.over
	p.mu.Unlock()
	if over {
		return transports.ErrClosed
	}
	for _, c := range conns {
		switch err := c.Send(msg); {
		case errors.Is(err, transports.ErrTooLarge):
			return err
		case errors.Is(err, transports.ErrClosed):
			return err
		case err != nil:
			p.leave(c)
		}
	}
	return nil
}

func (p *refPublisher) leave(c *refConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(x *refConn) bool { return x == c })
	c.Close()
}

func (p *refPublisher) Recv() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil, transports.ErrClosed
	}
	return nil, errors.ErrUnsupported
}

func (p *refPublisher) InFlight(size int) int { return (&refConn{}).InFlight(size) }

func (p *refPublisher) Facts() map[string]string { return map[string]string{"name": "reference"} }

func (p *refPublisher) Close() error {
	p.shutter.Do(p.shut)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	for _, c := range p.conns {
		c.Close()
	}
	return nil
}

type refSubscriber struct{ *refConn }

func (s refSubscriber) Send([]byte) error {
	if _, err := s.refConn.Conn.Write(nil); err != nil {
		return closedError(err)
	}
	return errors.ErrUnsupported
}

func (s refSubscriber) Facts() map[string]string { return map[string]string{"name": "reference"} }

// broadcastMutants are broadcasts with one fault each, and the subtest that must find it.
var broadcastMutants = map[string]struct {
	finds string
	r     refBroadcaster
}{
	"loses for all":      {"everyone", refBroadcaster{spoilPublisher: func(p *refPublisher) transports.Conn { return &skips{refPublisher: p} }}},
	"loses for one":      {"everyone", refBroadcaster{spoilSubscriber: func(s refSubscriber) transports.Conn { return &misses{refSubscriber: s} }}},
	"keeps the slice":    {"sizes", refBroadcaster{spoilPublisher: func(p *refPublisher) transports.Conn { return &keepsLast{refPublisher: p} }}},
	"listens to nobody":  {"direction", refBroadcaster{spoilSubscriber: func(s refSubscriber) transports.Conn { return swallows{s} }}},
	"never ends":         {"publisher-closes", refBroadcaster{spoilSubscriber: func(s refSubscriber) transports.Conn { return waits{s} }}},
	"leaves connections": {"nothing-left", refBroadcaster{spoilSubscriber: func(s refSubscriber) transports.Conn { go func() { select {} }(); return s }}},
}

// TestBroadcastMutants runs the broadcast part on each mutant, in a process of its own since it must fail.
func TestBroadcastMutants(t *testing.T) {
	if name := os.Getenv(mutantEnv); name != "" {
		deadline = mutantDeadline
		r := broadcastMutants[name].r
		runBroadcast(t, &r)
		return
	}
	for name, m := range broadcastMutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestBroadcastMutants$", "-test.v")
			cmd.Env = append(os.Environ(), mutantEnv+"="+name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("the suite did not fail (error %v)", err)
			}
			if want := "--- FAIL: TestBroadcastMutants/" + m.finds; !strings.Contains(string(out), want) {
				t.Errorf("no line %q in:\n%s", want, out)
			}
		})
	}
}

// skips loses a message of the stream, for everyone.
type skips struct {
	*refPublisher
	n int
}

func (p *skips) Send(msg []byte) error {
	if p.n++; p.n%1000 == 999 {
		return nil
	}
	return p.refPublisher.Send(msg)
}

// misses loses a message of the stream.
type misses struct {
	refSubscriber
	n int
}

func (s *misses) Recv() ([]byte, error) {
	if s.n++; s.n == 1000 {
		s.refSubscriber.Recv()
	}
	return s.refSubscriber.Recv()
}

// keepsLast sends each message when the next one comes, out of the caller's slice.
type keepsLast struct {
	*refPublisher
	kept []byte
}

func (p *keepsLast) Send(msg []byte) error {
	err := p.refPublisher.Send(p.kept)
	p.kept = msg
	return errors.Join(err, p.refPublisher.Send(p.kept[:0]))
}

// swallows takes what a subscriber may not send.
type swallows struct{ refSubscriber }

func (swallows) Send([]byte) error { return nil }

// waits goes on waiting after the end.
type waits struct{ refSubscriber }

func (s waits) Recv() ([]byte, error) {
	msg, err := s.refSubscriber.Recv()
	if err != nil && !errors.Is(err, transports.ErrClosed) {
		time.Sleep(3 * time.Second)
	}
	return msg, err
}
