package bench

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"msgbench/pinning"
)

// aregProcess is one of areg-sdk's programs.
type aregProcess struct {
	name   string // of its role
	cmd    *exec.Cmd
	output tail
	exited chan struct{} // closed when it has ended and all its output is read
	err    error         // of the process; it and ended are valid once exited is closed
	ended  time.Time
}

// start starts a program of areg-sdk, pinned before its first instruction, and tells the janitor of it. onResult is called, if there is one,
// with the first line of the program that is a result.
func (e *aregExecution) start(role string, words []string, onResult func()) (*aregProcess, error) {
	p := &aregProcess{name: role, cmd: exec.Command(words[0], words[1:]...), exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = filepath.Dir(words[0]), e.a.stage.Env()
	out := &resultWriter{into: &p.output}
	if onResult != nil {
		out.onResult = sync.OnceFunc(onResult)
	}
	p.cmd.Stdout, p.cmd.Stderr = out, &p.output
	p.cmd.WaitDelay = time.Second
	ownGroup(p.cmd)
	// The result may come before this function returns; whoever is told of it wants to know the process.
	out.mu.Lock()
	defer out.mu.Unlock()
	if err := e.a.spawner.Start(p.cmd, pinning.Options{CPUs: e.placed[role], RT: e.a.policy.RT}); err != nil {
		return nil, fmt.Errorf("start %s %s: %w", role, words[0], err)
	}
	if onResult != nil {
		e.consumer = p
	}
	go func() {
		p.err, p.ended = p.cmd.Wait(), time.Now()
		close(p.exited)
	}()
	return p, e.a.janitor.watch(p.cmd.Process.Pid)
}

// resultWriter passes output on and looks for the line of a result: "run 1   mode pp64 …".
type resultWriter struct {
	mu       sync.Mutex
	into     *tail
	line     []byte
	onResult func() // nil: not looked for
}

// longestResult is how many bytes of a line are kept.
const longestResult = 4 << 10

func (w *resultWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.onResult != nil {
		for rest := b; len(rest) > 0; {
			piece, after, whole := bytes.Cut(rest, []byte("\n"))
			w.line = append(w.line, piece[:min(len(piece), longestResult-len(w.line))]...)
			if whole {
				if words := strings.Fields(string(w.line)); len(words) > 3 && words[0] == "run" && words[2] == "mode" {
					w.onResult()
				}
				w.line = w.line[:0]
			}
			rest = after
		}
	}
	return w.into.Write(b)
}

// last is the last line that the program printed.
func (p *aregProcess) last() string {
	s := p.output.String()
	if s == "" {
		return "it has printed nothing"
	}
	lines := strings.Split(s, "\n")
	return "it has printed " + fmt.Sprintf("%q", shorten(lines[len(lines)-1], 200))
}

func (p *aregProcess) exitReason() string {
	if p.err == nil {
		return "exit status 0"
	}
	return p.err.Error()
}

// kill ends the process and waits for that.
func (p *aregProcess) kill() {
	// It may have ended by itself meanwhile.
	_ = p.cmd.Process.Kill()
	<-p.exited
}
