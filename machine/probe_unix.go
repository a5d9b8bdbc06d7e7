//go:build darwin || freebsd

package machine

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// probeNative tries what transports need. dir is a folder that may be written to, or "".
func probeNative(p *Probes, dir string) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		p.OpenFiles = int64(min(uint64(limit.Cur), 1<<62))
	}
	var st unix.Statfs_t
	if unix.Statfs(p.TempDir, &st) == nil {
		p.TempFree = int64(st.Bavail) * int64(st.Bsize)
	}
	if dir != "" {
		p.Features["fifo"] = say(unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	}
}
