package transporttest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"msgbench/transports"
)

// childEnv holds the childTask of a test binary that was started again as a peer process.
const childEnv = "MSGBENCH_TRANSPORTTEST_CHILD"

// childPrefix starts the lines of a child on its standard output, which the testing package writes to as well.
const childPrefix = "transporttest-child "

// childTask says what the child does: it dials Endpoint, or listens if that is empty. Then it exchanges that many
// messages (asking if it dialed, echoing if it listened) and ends well, or, if there are none, waits to be killed. Of a
// broadcast it is the publisher if it listens.
type childTask struct {
	Endpoint  string
	Options   transports.Options
	Messages  int
	Broadcast bool
}

// runChild is the life of a peer process. It ends with its standard input, so that it never outlives the test.
func runChild(tr transports.Transport) {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	if tr.Info().LockThread {
		runtime.LockOSThread()
	}
	if err := childLife(tr); err != nil {
		fmt.Fprintln(os.Stderr, "peer process:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func childLife(tr transports.Transport) error {
	var task childTask
	if err := json.Unmarshal([]byte(os.Getenv(childEnv)), &task); err != nil {
		return err
	}
	if task.Broadcast {
		return broadcastLife(tr.(transports.Broadcaster), task)
	}
	var c transports.Conn
	var err error
	if task.Endpoint != "" {
		c, err = tr.Dial(task.Endpoint, task.Options)
	} else {
		var l transports.Listener
		if l, err = tr.Listen(task.Options); err != nil {
			return err
		}
		fmt.Println(childPrefix + l.Endpoint())
		c, err = l.Accept()
	}
	if err != nil {
		return err
	}
	fmt.Println(childPrefix + "connected")
	if task.Messages > 0 {
		if task.Endpoint != "" {
			return errors.Join(window(c, task.Messages, 1, childSize), c.Close())
		}
		if err := echo(c, task.Messages); err != nil {
			return err
		}
		if tr.Info().Silent {
			return nil // it would never see the end
		}
		if _, err := c.Recv(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("after the peer's Close: got error %v, want io.EOF", err)
		}
		return c.Close()
	}
	for {
		time.Sleep(time.Hour) // select{} would be reported as a deadlock
	}
}

// childSize is the size of the i-th message between processes, in bytes.
func childSize(i int) int { return 40 + i%3*5000 }

// child is a peer process under the test's control.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines chan string
	ended bool
}

// startChild starts the test binary again as the peer process.
func startChild(t *testing.T, task childTask) *child {
	t.Helper()
	// The function that called Run is the first element of the test's name.
	top, _, _ := strings.Cut(t.Name(), "/")
	js, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+top+"$", "-test.count=1")
	// A program under the race detector otherwise sleeps for a second when it exits.
	cmd.Env = append(os.Environ(), childEnv+"="+string(js), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, stdin: stdin, lines: make(chan string, 16)}
	go func() {
		defer close(c.lines)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			if line, ok := strings.CutPrefix(in.Text(), childPrefix); ok {
				c.lines <- line
			}
		}
	}()
	t.Cleanup(c.kill)
	return c
}

// line returns the child's next line.
func (c *child) line(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			t.Fatal("the peer process ended early")
		}
		return line
	case <-time.After(deadline):
		t.Fatal("the peer process is silent")
	}
	return ""
}

// kill ends the child as kill -9 does, and waits until it is gone.
func (c *child) kill() {
	if c.ended {
		return
	}
	c.ended = true
	c.cmd.Process.Kill()
	for range c.lines {
	}
	c.cmd.Wait()
	c.stdin.Close()
}

// exit waits until the child ends by itself, and returns how.
func (c *child) exit(t *testing.T) error {
	t.Helper()
	timer := time.AfterFunc(deadline, func() { c.cmd.Process.Kill() })
	defer timer.Stop()
	c.ended = true
	for range c.lines {
	}
	defer c.stdin.Close()
	return c.cmd.Wait()
}

// meet connects to a child: this process listens, or dials.
func (s *suite) meet(t *testing.T, listen bool, messages int, pattern transports.Pattern) (*side, transports.Conn, *child) {
	t.Helper()
	o := s.options(t, pattern)
	me := newSide("surviving side", s.info.LockThread)
	t.Cleanup(func() { finish(me) })
	task := childTask{Options: o, Messages: messages}
	var c transports.Conn
	var ch *child
	if listen {
		var l transports.Listener
		me.start("Listen", func() (err error) { l, err = s.tr.Listen(o); return }).must(t)
		accept := me.start("Accept", func() (err error) { c, err = l.Accept(); return })
		task.Endpoint = l.Endpoint()
		ch = startChild(t, task)
		accept.must(t)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	} else {
		ch = startChild(t, task)
		endpoint := ch.line(t)
		me.start("Dial", func() (err error) { c, err = s.tr.Dial(endpoint, o); return }).must(t)
	}
	t.Cleanup(func() { c.Close() })
	if line := ch.line(t); line != "connected" {
		t.Fatalf("the peer process says %q instead of connected", line)
	}
	if names := leftIn(o.Dir); len(names) != 0 {
		t.Errorf("both processes are connected and the folder still holds %q", names)
	}
	return me, c, ch
}

// testPeerProcess exchanges messages with another process, which ends well by itself.
func (s *suite) testPeerProcess(t *testing.T) {
	n := s.count(1000)
	for _, listen := range []bool{true, false} {
		me, c, ch := s.meet(t, listen, n, transports.RequestReply)
		me.start("exchange messages with another process", func() error {
			if listen {
				return echo(c, n)
			}
			return errors.Join(window(c, n, 1, childSize), c.Close())
		}).must(t)
		if err := ch.exit(t); err != nil {
			t.Fatalf("the peer process ended with %v", err)
		}
	}
}

// testPeerDies kills the peer process while this side is blocked in Recv or Send. A transport that is silent about its
// peer may go on blocking, until Close.
func (s *suite) testPeerDies(t *testing.T) {
	for _, listen := range []bool{true, false} {
		me, c, ch := s.meet(t, listen, 0, transports.Pipelined)
		blocked := me.start("Recv from a process that dies", func() error { _, err := c.Recv(); return err })
		s.dies(t, blocked, c, ch)
	}
	me, c, ch := s.meet(t, false, 0, transports.Stream)
	if blocked := s.blockSend(t, me, c, 4096); blocked != nil {
		s.dies(t, blocked, c, ch)
	}
}

// dies kills the child and checks that the blocked step ends with an error in time.
func (s *suite) dies(t *testing.T, blocked *step, c transports.Conn, ch *child) {
	t.Helper()
	if blocked.within(blockFor) {
		t.Fatalf("%s: returned at once with error %v instead of blocking", blocked.what, blocked.err)
	}
	killed := time.Now()
	ch.kill()
	if s.info.Silent && !blocked.within(soon) {
		closes(t, blocked, c.Close)
		return
	}
	err := blocked.wait(t)
	if took := time.Since(killed); took > soon {
		t.Errorf("%s: noticed after %v, want at most %v", blocked.what, took, soon)
	}
	if err == nil || errors.Is(err, transports.ErrClosed) {
		t.Errorf("%s: ended with error %v, want one that speaks of the peer", blocked.what, err)
	}
}
