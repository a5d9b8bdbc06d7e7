//go:build unix && !linux

package measure

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// CPUClock reads the CPU time that a process has used, all its threads, in user and kernel mode.
type CPUClock struct{ pid int }

// ProcessCPU returns the CPU clock of this process; here that of another is an error that wraps errors.ErrUnsupported.
func ProcessCPU(pid int) (CPUClock, error) {
	if pid < 1 {
		return CPUClock{}, fmt.Errorf("cpu clock: %d is not a process id", pid)
	}
	if pid != os.Getpid() {
		return CPUClock{}, fmt.Errorf("cpu clock of process %d: only of this process here: %w", pid, errors.ErrUnsupported)
	}
	return CPUClock{pid: pid}, nil
}

// Read is the CPU time in ns since the process began, in steps of 1 µs.
func (c CPUClock) Read() (int64, error) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0, fmt.Errorf("cpu clock: %w", err)
	}
	return r.Utime.Nano() + r.Stime.Nano(), nil
}

// ResidentBytes is the largest resident size that this process had; that of another is an error that wraps
// errors.ErrUnsupported.
func ResidentBytes(pid int) (int64, error) {
	if pid != os.Getpid() {
		return 0, fmt.Errorf("resident size of process %d: only of this process here: %w", pid, errors.ErrUnsupported)
	}
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0, fmt.Errorf("resident size: %w", err)
	}
	return int64(r.Maxrss) * maxrssUnit, nil
}
