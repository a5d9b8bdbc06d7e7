package machine

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"msgbench/measure"
	"msgbench/pinning"
)

// sleepLateness sleeps n times for 1 ms, as the pacer does, and tells how much longer each took in ns.
func sleepLateness(ctx context.Context, n int) []int64 {
	done := make(chan []int64)
	go func() {
		runtime.LockOSThread() // not unlocked: the thread, whose timer slack has changed, ends here
		_ = measure.PreciseTimers()
		var late []int64
		for len(late) < n && ctx.Err() == nil {
			deadline := measure.Now() + int64(time.Millisecond)
			ts := unix.NsecToTimespec(deadline)
			for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) == unix.EINTR {
			}
			late = append(late, measure.Now()-deadline)
		}
		done <- late
	}()
	return <-done
}

// probeNative tries what transports need. dir is a folder that may be written to, or "".
func probeNative(p *Probes, dir string) {
	var st unix.Statfs_t
	if unix.Statfs(p.TempDir, &st) == nil {
		p.TempFS, p.TempFree = fsName(int64(st.Type)), int64(st.Bavail)*int64(st.Bsize)
	}
	if unix.Statfs("/dev/shm", &st) == nil && int64(st.Type) == unix.TMPFS_MAGIC {
		free := int64(st.Bavail) * int64(st.Bsize)
		p.ShmFree = &free
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		p.OpenFiles = int64(min(limit.Cur, 1<<62))
	}
	p.SlackNs, p.SlackError = timerSlack()
	p.Features["affinity"] = say(tryAffinity())
	p.Features["memfd"] = say(tryMemfd())
	p.Features["seqpacket"] = say(trySeqpacket())
	if dir != "" {
		p.Features["fifo"] = say(unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
		p.Features["socket file"] = say(trySocketFile(filepath.Join(dir, "socket")))
	}
}

// timerSlack is how late a sleep of this process may end on purpose, and why a thread can't change that; empty where it can.
func timerSlack() (ns int64, why string) {
	type answer struct {
		ns  int64
		why string
	}
	got := make(chan answer)
	go func() {
		runtime.LockOSThread() // not unlocked: the thread ends with the slack that it was given
		n, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		if err != nil {
			got <- answer{0, err.Error()}
			return
		}
		got <- answer{int64(n), say(unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0))}
	}()
	a := <-got
	return a.ns, a.why
}

// tryAffinity sets the mask that this thread has already.
func tryAffinity() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cpus, err := pinning.Affinity(0)
	if err != nil {
		return err
	}
	set := unix.NewCPUSet(cpus[len(cpus)-1] + 1)
	for _, c := range cpus {
		set.Set(c)
	}
	return unix.SchedSetaffinityDynamic(0, set)
}

func tryMemfd() error {
	fd, err := unix.MemfdCreate("msgbench-doctor", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const size = 1 << 16
	if err := unix.Fallocate(fd, 0, 0, size); err != nil {
		return err
	}
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	return unix.Munmap(mem)
}

func trySeqpacket() error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	unix.Close(fds[0])
	unix.Close(fds[1])
	return nil
}

func trySocketFile(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrUnix{Name: name})
}

// fsName names a type of file system.
func fsName(magic int64) string {
	switch uint32(magic) {
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "cifs"
	case unix.FUSE_SUPER_MAGIC:
		return "fuse"
	case unix.V9FS_MAGIC:
		return "9p"
	case unix.CEPH_SUPER_MAGIC:
		return "ceph"
	case 0x2fc12fc1:
		return "zfs"
	}
	return fmt.Sprintf("type %#x", uint32(magic))
}
