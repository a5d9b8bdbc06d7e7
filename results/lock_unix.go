//go:build unix

package results

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock of a journal; it goes with the descriptor, so also with a killed process.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
