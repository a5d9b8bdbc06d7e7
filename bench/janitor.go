package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

// The janitor is a process that does nothing while the runner lives. When the runner's end of its standard input closes,
// by the end of the run or by a kill -9, it gives the workers half a second to leave by themselves, kills those still
// there, and removes the folder of the endpoints. A worker that hangs, or a runner that is killed between two
// samples, would leave something otherwise.

// leaveTime is how long orphaned workers may take to end by themselves.
const leaveTime = 500 * time.Millisecond

// JanitorMain is the process side of the janitor: it reads "watch PID" and "forget PID" until in ends.
func JanitorMain(dir string, in io.Reader) error {
	signal.Ignore(interruptSignals()...)
	watched := map[int]handle{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		pid, err := strconv.Atoi(rest)
		if err != nil {
			return fmt.Errorf("janitor: %q: want watch PID or forget PID", lines.Text())
		}
		switch word {
		case "watch":
			// One that has ended already has no handle, and needs none.
			if h, err := openHandle(pid); err == nil {
				watched[pid] = h
			}
		case "forget":
			if h, ok := watched[pid]; ok {
				h.close()
				delete(watched, pid)
			}
		}
	}
	deadline := time.Now().Add(leaveTime)
	for _, h := range watched {
		h.endBy(deadline)
	}
	return os.RemoveAll(dir)
}

// janitor is the runner's end.
type janitor struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

func startJanitor(exe, dir string) (*janitor, error) {
	j := &janitor{cmd: exec.Command(exe, "janitor", dir)}
	ownGroup(j.cmd)
	j.cmd.Stderr = os.Stderr
	var err error
	if j.stdin, err = j.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start janitor: %w", err)
	}
	if err := j.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start janitor: %w", err)
	}
	return j, nil
}

func (j *janitor) watch(pid int) error  { return j.say("watch", pid) }
func (j *janitor) forget(pid int) error { return j.say("forget", pid) }

func (j *janitor) say(word string, pid int) error {
	if _, err := fmt.Fprintf(j.stdin, "%s %d\n", word, pid); err != nil {
		return fmt.Errorf("the janitor process is gone: %w", err)
	}
	return nil
}

// close lets the janitor do its work and waits until it is done.
func (j *janitor) close() error {
	j.stdin.Close()
	if err := j.cmd.Wait(); err != nil {
		return fmt.Errorf("janitor: %w", err)
	}
	return nil
}
