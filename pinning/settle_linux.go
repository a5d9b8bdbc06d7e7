package pinning

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// settled marks, in the environment, a process that Settle has begun anew.
const settled = "MSGBENCH_SETTLED"

// Settle begins this process anew on the given CPUs (any, if there are none) and with the timer slack of workers, as a Spawner
// does for those that it starts: threads that the runtime has started already would else run elsewhere. It returns in the new
// process only, or with an error.
func Settle(cpus []int) error {
	if os.Getenv(settled) != "" {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // what the exec takes along is of this thread
	if len(cpus) > 0 {
		before, err := Affinity(0)
		if err != nil {
			return err
		}
		if err := setMask(cpus); err != nil {
			return fmt.Errorf("%w (allowed: %s)", err, FormatList(before))
		}
		if got, err := Affinity(0); err != nil || !slices.Equal(got, slices.Sorted(slices.Values(cpus))) {
			return fmt.Errorf("asked for CPU %s, got %s (allowed: %s)", FormatList(cpus), FormatList(got), FormatList(before))
		}
	}
	// A system that refuses it keeps its usual slack, as with a Spawner.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, childSlack, 0, 0, 0)
	return fmt.Errorf("exec %s: %w", exe, syscall.Exec(exe, os.Args, append(os.Environ(), settled+"=1")))
}
