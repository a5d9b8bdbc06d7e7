package transporttest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"msgbench/transports"
)

const mutantEnv = "MSGBENCH_TRANSPORTTEST_MUTANT"

// mutantDeadline is waited out by mutants that hang, and not by those of which another step is to fail: these need it to be
// far longer than any step takes on a machine that others load.
const mutantDeadline = 10 * time.Second

// mutants are transports with one fault each, and the subtest that must find it; empty if chance says which.
var mutants = map[string]struct {
	finds   string
	breakIt func(*refConn) transports.Conn
}{
	"loses":           {"order/stream", func(c *refConn) transports.Conn { return &loses{refConn: c} }},
	"swaps":           {"order/stream", func(c *refConn) transports.Conn { return &swaps{refConn: c} }},
	"keeps the slice": {"sizes/request-reply", func(c *refConn) transports.Conn { return &keeps{refConn: c} }},
	"reuses early":    {"", func(c *refConn) transports.Conn { return &early{refConn: c} }},
	"promises":        {"in-flight/pipelined", func(c *refConn) transports.Conn { return promises{c} }},
	"takes all sizes": {"too-large", func(c *refConn) transports.Conn { c.max = 1 << 30; return c }},
	"no facts":        {"facts", func(c *refConn) transports.Conn { return noFacts{c} }},
	"deaf to Close":   {"close-recv", func(c *refConn) transports.Conn { return &deaf{refConn: c} }},
	"own error":       {"close-recv", func(c *refConn) transports.Conn { return ownError{c} }},
	"hides the end":   {"peer-closes/dialing-side", func(c *refConn) transports.Conn { return hides{c} }},
	"leaks a thread":  {"nothing-left", func(c *refConn) transports.Conn { go func() { select {} }(); return c }},
	"leaks a file": {"nothing-left", func(c *refConn) transports.Conn {
		leak() // both sides connect at the same time
		return c
	}},
	"allocates": {"allocations", func(c *refConn) transports.Conn { return c }},
}

var (
	leakedMu sync.Mutex
	leaked   []*os.File
)

// leak opens a file that nobody closes.
func leak() {
	leakedMu.Lock()
	defer leakedMu.Unlock()
	leaked = append(leaked, must(os.Open(os.DevNull)))
}

func must(f *os.File, err error) *os.File {
	if err != nil {
		panic(err)
	}
	return f
}

// TestMutants runs the suite on each mutant, in a process of its own since it must fail.
func TestMutants(t *testing.T) {
	if name := os.Getenv(mutantEnv); name != "" {
		deadline = mutantDeadline
		Run(t, &reference{breakIt: mutants[name].breakIt}, NoAllocs)
		return
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestMutants$", "-test.v")
			cmd.Env = append(os.Environ(), mutantEnv+"="+name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("the suite did not fail (error %v)", err)
			}
			want := "--- FAIL: TestMutants/wait=block/" + m.finds
			if !strings.Contains(string(out), want) {
				t.Errorf("no line %q in:\n%s", want, out)
			}
		})
	}
}

// loses drops a message now and then.
type loses struct {
	*refConn
	n int
}

func (c *loses) Send(msg []byte) error {
	if c.n++; c.n == 9000 {
		return nil
	}
	return c.refConn.Send(msg)
}

// swaps sends two messages in the wrong order.
type swaps struct {
	*refConn
	n    int
	held []byte
}

func (c *swaps) Send(msg []byte) error {
	if c.n++; c.n == 9000 {
		c.held = bytes.Clone(msg)
		return nil
	}
	err := c.refConn.Send(msg)
	if c.held != nil {
		err = errors.Join(err, c.refConn.Send(c.held))
		c.held = nil
	}
	return err
}

// keeps sends the slice it was given later.
type keeps struct {
	*refConn
	queue chan []byte
}

func (c *keeps) Send(msg []byte) error {
	if c.queue == nil {
		c.queue = make(chan []byte, 1000)
		go func() {
			for msg := range c.queue {
				time.Sleep(time.Millisecond)
				c.refConn.Send(msg)
			}
		}()
	}
	c.queue <- msg
	return nil
}

// early writes into a received slice before the next Recv.
type early struct{ *refConn }

func (c *early) Recv() ([]byte, error) {
	msg, err := c.refConn.Recv()
	if len(msg) > 0 {
		shared := bytes.Clone(msg)
		time.AfterFunc(time.Millisecond, func() { shared[len(shared)-1]++ })
		return shared, err
	}
	return msg, err
}

type promises struct{ *refConn }

func (promises) InFlight(int) int { return 10000 }

type noFacts struct{ *refConn }

func (noFacts) Facts() map[string]string { return nil }

// deaf lets a blocked call sleep on.
type deaf struct{ *refConn }

func (c *deaf) Recv() ([]byte, error) {
	msg, err := c.refConn.Recv()
	if errors.Is(err, transports.ErrClosed) {
		time.Sleep(3 * time.Second)
	}
	return msg, err
}

type ownError struct{ *refConn }

func (c ownError) Recv() ([]byte, error) {
	msg, err := c.refConn.Recv()
	if errors.Is(err, transports.ErrClosed) {
		err = errors.New("something went wrong")
	}
	return msg, err
}

type hides struct{ *refConn }

func (c hides) Recv() ([]byte, error) {
	msg, err := c.refConn.Recv()
	if err == io.EOF {
		return nil, nil
	}
	return msg, err
}
