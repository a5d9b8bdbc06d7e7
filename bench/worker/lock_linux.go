package worker

import "golang.org/x/sys/unix"

// lockMemory keeps all pages of this process, those to come too, in memory.
func lockMemory() error { return unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE) }
