//go:build unix

package measure

import (
	"os"

	"golang.org/x/sys/unix"
)

// UserCPU is what this process has used so far in user mode, in ns. The kernel divides the time by samples of its tick: over
// seconds it is good to some per cent.
func UserCPU() (ns int64, err error) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0, os.NewSyscallError("getrusage", err)
	}
	return r.Utime.Nano(), nil
}
