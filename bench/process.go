package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"msgbench/bench/protocol"
	"msgbench/machine"
	"msgbench/pinning"
)

// maxOutput is how many bytes of standard output the runner takes from one worker before it gives up on it.
const maxOutput = 64 << 20

// stderrTail is how many bytes of a worker's standard error are kept: its last ones.
const stderrTail = 4 << 10

// process is one running worker.
type process struct {
	role   string
	name   string         // the role, with a number where there are several
	host   *Host          // on which it runs, started by cmd; nil: here
	home   *protocol.Home // where there, once it is ready; nil: here
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan line
	quit   chan struct{} // closed when nobody reads lines any more
	exited chan struct{} // closed when the process has ended and all its output is read
	err    error         // of the process; valid once exited is closed
	stderr tail
	ended  sync.Once
}

// line is one line that a worker printed, or why there are no more that count.
type line struct {
	word, rest string
	err        error
}

// startProcess starts a worker. It is pinned from its first instruction, has a process group of its own, so that a
// terminal's Ctrl-C reaches the runner alone, and ends when its standard input does.
func startProcess(sp *pinning.Spawner, words []string, name, role string, host *Host, o pinning.Options) (*process, error) {
	p := &process{role: role, name: name, host: host, lines: make(chan line, 16), quit: make(chan struct{}), exited: make(chan struct{})}
	p.cmd = exec.Command(words[0], words[1:]...)
	p.cmd.Stderr = &p.stderr
	ownGroup(p.cmd)
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.label(), err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.label(), err)
	}
	if err := sp.Start(p.cmd, o); err != nil {
		return nil, fmt.Errorf("start %s %s: %w", p.label(), words[0], err)
	}
	go p.read(stdout)
	return p, nil
}

// read passes on the lines of a worker and waits for its end.
func (p *process) read(stdout io.Reader) {
	defer close(p.exited)
	limited := &io.LimitedReader{R: stdout, N: maxOutput}
	lines := bufio.NewScanner(limited)
	lines.Buffer(make([]byte, 64<<10), protocol.MaxLine)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		p.pass(line{word: word, rest: rest})
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		p.pass(line{err: fmt.Errorf("printed a line of more than %d MiB", protocol.MaxLine>>20)})
	case limited.N <= 0:
		p.pass(line{err: fmt.Errorf("printed more than %d MiB", maxOutput>>20)})
	}
	if limited.N <= 0 || lines.Err() != nil {
		p.kill() // it may print for ever
	}
	close(p.lines)
	p.err = p.cmd.Wait()
}

func (p *process) pass(l line) {
	select {
	case p.lines <- l:
	case <-p.quit:
	}
}

// expect waits for the line that begins with word and reads its JSON into v, unless v is nil.
func (p *process) expect(ctx context.Context, word string, v any, within time.Duration) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case l, ok := <-p.lines:
		if !ok {
			<-p.exited
			return fmt.Errorf("%s ended before %q: %s", p.label(), word, p.exitReason())
		}
		return p.take(l, word, v)
	case <-timer.C:
		return fmt.Errorf("%s hangs: no %q within %s", p.label(), word, within)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *process) take(l line, word string, v any) error {
	switch {
	case l.err != nil:
		return fmt.Errorf("%s %w", p.label(), l.err)
	case l.word == protocol.Error:
		var e protocol.ErrorInfo
		if err := json.Unmarshal([]byte(l.rest), &e); err != nil || e.Reason == "" {
			return fmt.Errorf("%s failed without a reason", p.label())
		}
		if e.PortTaken {
			return fmt.Errorf("%w: %s", errPortTaken, oneLine(e.Reason))
		}
		if p.host != nil {
			return fmt.Errorf("%s: %s", p.host.Name, oneLine(e.Reason))
		}
		return errors.New(oneLine(e.Reason))
	case l.word != word:
		return fmt.Errorf("%s printed %q where %q was expected", p.label(), shorten(l.word+" "+l.rest, 60), word)
	case v == nil:
		return nil
	}
	if err := json.Unmarshal([]byte(l.rest), v); err != nil {
		return fmt.Errorf("%s: %s: %w", p.label(), word, err)
	}
	return nil
}

// say writes one line to the worker. One that does not read, or is gone, shows at its next answer.
func (p *process) say(word string, v any) error {
	data, err := protocol.Line(word, v)
	if err != nil {
		return err
	}
	if _, err := p.stdin.Write(data); err != nil {
		return fmt.Errorf("%s does not listen: %w", p.label(), err)
	}
	return nil
}

// exitReason says how the process ended; valid once exited is closed.
func (p *process) exitReason() string {
	s := "exit status 0"
	if p.err != nil {
		s = p.err.Error()
	}
	if p.host != nil {
		s += p.stderr.because() // of what was to start it there
	}
	return s
}

// label names the process for people.
func (p *process) label() string {
	if p.host != nil {
		return p.name + " on " + p.host.Name
	}
	return p.name
}

// pid is the process itself, where this system knows it; else 0. What was started here for one of another host is not it.
func (p *process) pid() int {
	switch {
	case p.host == nil:
		return p.cmd.Process.Pid
	case p.home != nil && p.home.Space != "" && p.home.Space == machine.PIDSpace():
		return p.home.PID
	}
	return 0
}

func (p *process) kill() {
	// It may have ended by itself meanwhile.
	_ = p.cmd.Process.Kill()
}

// silent waits until the process, which has been told to stop, has closed its output, and says what it printed before that:
// nothing comes after a result.
func (p *process) silent(deadline time.Time) error {
	p.stdin.Close()
	select {
	case l, ok := <-p.lines:
		switch {
		case !ok:
			return nil
		case l.err != nil:
			return fmt.Errorf("%s %w after its result", p.label(), l.err)
		case l.word == protocol.Error:
			return fmt.Errorf("%s after its result: %w", p.label(), p.take(l, protocol.Result, nil))
		}
		return fmt.Errorf("%s printed %q after its result", p.label(), shorten(l.word+" "+l.rest, 60))
	case <-time.After(time.Until(deadline)):
		return nil
	}
}

// dismiss ends what the process has to do with us: its standard input, and our listening.
func (p *process) dismiss() {
	p.ended.Do(func() {
		close(p.quit)
		p.stdin.Close()
	})
}

// end waits until the process has ended, and kills it if that takes longer than grace.
func (p *process) end(grace time.Duration) error { return p.endBy(time.Now().Add(grace), grace) }

// endBy is end where the grace ends at a time that several processes share.
func (p *process) endBy(deadline time.Time, grace time.Duration) error {
	p.dismiss()
	select {
	case <-p.exited:
		return p.err
	case <-time.After(time.Until(deadline)):
	}
	select {
	case <-p.exited:
		return p.err
	default:
	}
	p.kill()
	<-p.exited
	return fmt.Errorf("%s did not end within %s", p.label(), grace)
}

// tail is a writer that keeps the last bytes.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - stderrTail; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(bytes.TrimSpace(t.buf), []byte("?")))
}

// because is ": " and the last line, or nothing where there is none.
func (t *tail) because() string {
	s := t.String()
	if s == "" {
		return ""
	}
	return ": " + shorten(s[strings.LastIndexByte(s, '\n')+1:], 200)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func shorten(s string, n int) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "?"))
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
