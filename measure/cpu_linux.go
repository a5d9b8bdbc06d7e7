package measure

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// CPUClock reads the CPU time that a process has used, all its threads, in user and kernel mode.
type CPUClock struct {
	id  int32
	pid int
}

// ProcessCPU returns the CPU clock of a running process. The pid is at least 1; one that does not run is an error.
func ProcessCPU(pid int) (CPUClock, error) {
	if pid < 1 || pid > math.MaxInt32>>3 {
		return CPUClock{}, fmt.Errorf("cpu clock: %d is not a process id", pid)
	}
	// As clock_getcpuclockid(3) makes it: the complement of the pid, then "whole process" and "nanoseconds run".
	const perProcess, scheduled = 0, 2
	c := CPUClock{id: int32(^pid)<<3 | perProcess | scheduled, pid: pid}
	if _, err := c.Read(); err != nil {
		return CPUClock{}, err
	}
	return c, nil
}

// Read is the CPU time in ns since the process began. It is an error once the process has ended. It does not allocate.
func (c CPUClock) Read() (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(c.id, &ts); err != nil {
		return 0, fmt.Errorf("cpu clock of process %d: %w (has it ended?)", c.pid, err)
	}
	return ts.Nano(), nil
}
