package results

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes the lock of a journal; it goes with the handle, so also with a killed process.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}
