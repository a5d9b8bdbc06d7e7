package pinning

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const schedFIFO = 1

// limitFile holds how many µs of each second real-time processes may have; -1: all of it.
const limitFile = "/proc/sys/kernel/sched_rt_runtime_us"

func checkRT(priority int, alone bool) error {
	data, err := os.ReadFile(limitFile)
	if err != nil {
		return fmt.Errorf("the kernel's limit of real-time processes can't be read: %w", err)
	}
	if err := checkLimit(strings.TrimSpace(string(data)), alone); err != nil {
		return err
	}
	if err := tryRT(priority); err != nil {
		return rtRights(priority, err)
	}
	return nil
}

// checkLimit refuses real-time processes where the kernel would let them have a CPU for ever: one that spins could not be
// ended then.
func checkLimit(us string, alone bool) error {
	switch {
	case us == "0":
		return fmt.Errorf("%s is 0: this system grants real-time processes no time", limitFile)
	case us == "-1" && !alone:
		return fmt.Errorf("%s is -1: a spinning worker could never be stopped on CPUs that are not isolated (sysctl kernel.sched_rt_runtime_us=950000)", limitFile)
	}
	return nil
}

// tryRT takes a thread to that priority and lets it end.
func tryRT(priority int) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // not unlocked: the thread ends here
		result <- setRT(0, priority)
	}()
	return <-result
}

func setRT(tid, priority int) error {
	return unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: schedFIFO, Priority: uint32(priority)}, 0)
}

// rtRights says what is missing for a priority that was refused.
func rtRights(priority int, err error) error {
	if !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("SCHED_FIFO at priority %d: %w", priority, err)
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_RTPRIO, &limit) == nil && limit.Cur < uint64(priority) && !capable(unix.CAP_SYS_NICE) {
		return fmt.Errorf("SCHED_FIFO at priority %d needs CAP_SYS_NICE or RLIMIT_RTPRIO of %d, and the limit is %d (run as root, or "+
			"raise rtprio in /etc/security/limits.conf)",
			priority, priority, limit.Cur)
	}
	return fmt.Errorf("SCHED_FIFO at priority %d is refused by the kernel: perhaps this cgroup has no real-time budget "+
		"(cpu.rt_runtime_us), or the sandbox forbids it", priority)
}

// CheckLock tells why processes can't lock all of their memory, in one line with the way out; nil where they can.
func CheckLock() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return fmt.Errorf("RLIMIT_MEMLOCK: %w", err)
	}
	return checkLock(limit.Cur, capable(unix.CAP_IPC_LOCK))
}

// A worker in Go reserves about 1.7 GiB of addresses, which all count.
const lockRoom = 4 << 30

func checkLock(limit uint64, can bool) error {
	if can || limit >= lockRoom {
		return nil
	}
	return fmt.Errorf("locking a worker's memory needs CAP_IPC_LOCK or RLIMIT_MEMLOCK of %d GiB, and the limit is %d KiB (run as root, or ulimit -l unlimited)",
		lockRoom>>30, limit>>10)
}

// capable tells whether this process has a capability.
func capable(n int) bool {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	return unix.Capget(&h, &d[0]) == nil && d[n/32].Effective&(1<<(n%32)) != 0
}

// ReadScheduling asks the kernel how a running process is scheduled, all of its threads, and how much of it is locked.
func ReadScheduling(pid int) (Scheduling, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	threads, err := os.ReadDir(dir + "/task")
	if err != nil {
		return Scheduling{}, fmt.Errorf("read scheduling of process %d back: %w", pid, err)
	}
	s := Scheduling{RT: -1}
	for _, e := range threads {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		a, err := unix.SchedGetAttr(tid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended in between
		}
		if err != nil {
			return Scheduling{}, fmt.Errorf("read scheduling of process %d back: %w", pid, err)
		}
		rt := 0
		if a.Policy == schedFIFO {
			rt = int(a.Priority)
		}
		if s.RT == -1 {
			s.RT = rt
		}
		if s.RT != rt {
			s.RT = 0
		}
	}
	s.RT = max(s.RT, 0)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return Scheduling{}, fmt.Errorf("read scheduling of process %d back: %w", pid, err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmLck:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return Scheduling{}, fmt.Errorf("process %d: %q is not a size", pid, strings.TrimSpace(line))
			}
			s.Locked = kib << 10
		}
	}
	return s, nil
}
