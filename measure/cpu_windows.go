package measure

import (
	"errors"
	"fmt"
	"syscall"
)

// CPUClock reads the CPU time that a process has used, all its threads, in user and kernel mode.
type CPUClock struct{ pid int }

// ProcessCPU returns the CPU clock of a running process. The pid is at least 1; one that does not run is an error.
func ProcessCPU(pid int) (CPUClock, error) {
	if pid < 1 {
		return CPUClock{}, fmt.Errorf("cpu clock: %d is not a process id", pid)
	}
	c := CPUClock{pid: pid}
	if _, err := c.Read(); err != nil {
		return CPUClock{}, err
	}
	return c, nil
}

// Read is the CPU time in ns since the process began, in steps of a timer tick (15.6 ms).
func (c CPUClock) Read() (int64, error) {
	const queryLimited = 0x1000
	h, err := syscall.OpenProcess(queryLimited, false, uint32(c.pid))
	if err != nil {
		return 0, fmt.Errorf("cpu clock of process %d: %w (has it ended?)", c.pid, err)
	}
	defer syscall.CloseHandle(h)
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return 0, fmt.Errorf("cpu clock of process %d: %w", c.pid, err)
	}
	return ticks(kernel) + ticks(user), nil
}

// ticks is a span in ns. Filetime.Nanoseconds would take it for a date.
func ticks(f syscall.Filetime) int64 {
	return (int64(f.HighDateTime)<<32 | int64(f.LowDateTime)) * 100
}

// ResidentBytes is an error that wraps errors.ErrUnsupported.
func ResidentBytes(pid int) (int64, error) {
	return 0, fmt.Errorf("resident size of process %d: %w", pid, errors.ErrUnsupported)
}
