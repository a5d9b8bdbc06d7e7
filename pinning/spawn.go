package pinning

import (
	"errors"
	"os/exec"
	"sync"
)

// Options is how a process is started.
type Options struct {
	CPUs           []int // where it may run; empty: not pinned
	RT             int   // priority under SCHED_FIFO from its first instruction on; 0: as usual (Linux only)
	KillWithParent bool  // the kernel kills it when this process ends, however that comes (Linux only)
}

// Spawner starts processes with an affinity that they have from their first instruction, so that every thread of theirs is
// born with it. All starts go through one OS thread that lives as long as the Spawner: an affinity is inherited from the
// thread that forks, and KillWithParent is bound to it too (a thread that ends takes its children with it).
// Use one Spawner for a whole run. It is safe for concurrent use.
type Spawner struct {
	jobs   chan job
	done   chan struct{}
	closed sync.Once
}

type job struct {
	cmd    *exec.Cmd
	o      Options
	result chan<- error
}

var errClosed = errors.New("start process: the spawner is closed")

// NewSpawner returns a Spawner; Close it when all that it started has ended.
func NewSpawner() *Spawner {
	s := &Spawner{jobs: make(chan job), done: make(chan struct{})}
	go s.serve()
	return s
}

// Start is cmd.Start with options. An affinity that the system refuses is an error, and nothing is started; where the system
// knows no affinity (CanPin is false) the process starts unpinned.
func (s *Spawner) Start(cmd *exec.Cmd, o Options) error {
	result := make(chan error, 1)
	select {
	case s.jobs <- job{cmd, o, result}:
		return <-result
	case <-s.done:
		return errClosed
	}
}

// Close ends the Spawner. Processes that it started go on.
func (s *Spawner) Close() { s.closed.Do(func() { close(s.done) }) }
