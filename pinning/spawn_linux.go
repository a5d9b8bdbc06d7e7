package pinning

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// childSlack is the timer slack of what is started, in ns; the usual 50 µs would be on top of every sleep of theirs.
const childSlack = 1

func (s *Spawner) serve() {
	runtime.LockOSThread()
	for {
		select {
		case j := <-s.jobs:
			err := start(j.cmd, j.o)
			j.result <- err
		case <-s.done:
			// The thread is as it was, and goes back to the others. Were it ended, processes with KillWithParent would be
			// killed here.
			runtime.UnlockOSThread()
			return
		}
	}
}

// start starts cmd from the calling thread, whose mask and timer slack it inherits, and puts both back.
func start(cmd *exec.Cmd, o Options) (err error) {
	if o.KillWithParent {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	if len(o.CPUs) > 0 {
		before, err := Affinity(0)
		if err != nil {
			return fmt.Errorf("start %s: %w", cmd.Path, err)
		}
		if err := setMask(o.CPUs); err != nil {
			return fmt.Errorf("start %s: %w (allowed: %s)", cmd.Path, err, FormatList(before))
		}
		defer restore(before)
		// The kernel leaves out what is not allowed, and refuses only if nothing is left.
		if got, err := Affinity(0); err != nil || !slices.Equal(got, slices.Sorted(slices.Values(o.CPUs))) {
			return fmt.Errorf("start %s: asked for CPU %s, got %s (allowed: %s)",
				cmd.Path, FormatList(o.CPUs), FormatList(got), FormatList(before))
		}
	}
	if o.RT > 0 {
		// The policy goes over fork and exec, and to every thread that is made later; so it reaches workers in any language.
		before, readErr := unix.SchedGetAttr(0, 0)
		if readErr != nil {
			return fmt.Errorf("start %s: %w", cmd.Path, readErr)
		}
		if err := setRT(0, o.RT); err != nil {
			return fmt.Errorf("start %s: %w", cmd.Path, rtRights(o.RT, err))
		}
		defer func() {
			if rerr := unix.SchedSetAttr(0, before, 0); rerr != nil && err == nil {
				err = errors.Join(fmt.Errorf("start %s: back from SCHED_FIFO: %w", cmd.Path, rerr), cmd.Process.Kill())
			}
		}()
	}
	slack, slackErr := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if slackErr == nil && unix.Prctl(unix.PR_SET_TIMERSLACK, childSlack, 0, 0, 0) == nil {
		defer unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
	}
	err = cmd.Start()
	return err
}

// restore puts the mask back. A cpuset that shrank meanwhile may refuse it; then any CPU that is allowed will do, which is
// what a mask of all CPUs means to the kernel.
func restore(before []int) {
	if setMask(before) == nil {
		return
	}
	all := unix.NewCPUSet(maxCPU + 1)
	all.Fill()
	_ = unix.SchedSetaffinityDynamic(0, all)
}
