package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// spoilWorker does a fault to one process of a sample, or stops the runner for a while. It is false when there was none
// at that moment.
func (f *faulty) spoilWorker() bool {
	var workers []faultProcess
	for _, p := range processesOf(f.t, f.tmp) {
		if strings.Contains(p.line, " worker ") {
			workers = append(workers, p)
		}
	}
	if len(workers) == 0 {
		return false
	}
	p := workers[f.r.IntN(len(workers))]
	_, role, _ := strings.Cut(p.line, "role=")
	role, _, _ = strings.Cut(role, " ")
	kind, ok := "", false
	switch n := f.r.IntN(20); {
	case n < 6:
		kind, ok = "kill", unix.Kill(p.pid, unix.SIGKILL) == nil
	case n < 11:
		kind, ok = "stop for a while", unix.Kill(p.pid, unix.SIGSTOP) == nil
		time.Sleep(time.Duration(10+f.r.IntN(300)) * time.Millisecond)
		_ = unix.Kill(p.pid, unix.SIGCONT) // it may have been given up
	case n < 12:
		kind, ok = "hang", unix.Kill(p.pid, unix.SIGSTOP) == nil
	case n < 16:
		kind, ok = "garbage printed", f.garbage(p.pid, 1)
	case n < 18:
		kind, ok = "garbage said to", f.garbage(p.pid, 0)
	default:
		kind, ok = "no descriptors", unix.Prlimit(p.pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 3}, nil) == nil
	}
	if ok {
		f.done[kind+" "+role]++
	}
	return ok
}

// garbage writes random bytes, with and without line feeds, into a standard stream of a process.
func (f *faulty) garbage(pid, fd int) bool {
	pipe, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", pid, fd), os.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer pipe.Close()
	bytes := make([]byte, 1+f.r.IntN(4000))
	for i := range bytes {
		bytes[i] = byte(f.r.IntN(256))
	}
	_, err = pipe.Write(bytes)
	return err == nil
}

// spoilRun does a fault to the whole run. undo puts right what is not the run's own.
func (f *faulty) spoilRun(cmd *exec.Cmd) (undo func()) {
	undo = func() {}
	kinds := []string{"kill", "interrupt", "disk full", "endpoints lost", "no descriptors", "janitor killed", "clock step"}
	kind := kinds[f.r.IntN(len(kinds))]
	var err error
	switch kind {
	case "kill":
		err = cmd.Process.Kill()
	case "interrupt":
		err = cmd.Process.Signal(os.Interrupt)
	case "disk full":
		undo, err = f.fillDisk(cmd.Process.Pid)
	case "endpoints lost":
		var dirs []string
		dirs, err = filepath.Glob(filepath.Join(f.tmp, "msgbench-*"))
		for _, d := range dirs {
			err = errors.Join(err, os.RemoveAll(d))
		}
	case "no descriptors":
		err = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 8, Max: 8}, nil)
	case "janitor killed":
		for _, p := range processesOf(f.t, f.tmp) {
			if strings.Contains(p.line, " janitor ") {
				err = unix.Kill(p.pid, unix.SIGKILL)
			}
		}
	case "clock step":
		step := time.Duration(2-4*f.r.IntN(2)) * time.Second
		if err = stepClock(step); errors.Is(err, unix.EPERM) {
			kind, err = "kill", cmd.Process.Kill() // where the clock is not ours to set
			break
		}
		undo = func() {
			if err := stepClock(-step); err != nil {
				f.t.Error(err)
			}
		}
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		f.t.Fatalf("%s: %v", kind, err)
	}
	f.done[kind+" run"]++
	return undo
}

func stepClock(by time.Duration) error {
	now := unix.NsecToTimespec(time.Now().Add(by).UnixNano())
	return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
}

// smallDisk mounts a file system of a few MiB at dir, and is false where that is not allowed.
func smallDisk(t *testing.T, dir string) bool {
	err := unix.Mount("none", dir, "tmpfs", 0, "size=8m")
	if errors.Is(err, unix.EPERM) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return true
}

// fillDisk leaves no room for the run. Where it has no disk of its own, files may not grow any more, which the kernel
// refuses in the same place.
func (f *faulty) fillDisk(pid int) (undo func(), err error) {
	if !f.disk {
		size := uint64(len(f.kept)) + 100
		return func() {}, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: size}, nil)
	}
	path := filepath.Join(f.dir, "filler")
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	block := make([]byte, 4096)
	for range math.MaxInt32 {
		if _, err = file.Write(block); err != nil {
			break
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		return nil, err
	}
	return func() {
		if err := os.Remove(path); err != nil {
			f.t.Error(err)
		}
	}, nil
}

type faultProcess struct {
	pid  int
	line string
}

// processesOf finds the workers and the janitor of one run by the folder of its endpoints.
func processesOf(t *testing.T, tmp string) []faultProcess {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []faultProcess
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		line := strings.ReplaceAll(string(data), "\x00", " ")
		if !strings.Contains(line, " worker ") && !strings.Contains(line, " janitor ") || !strings.Contains(line, tmp) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, faultProcess{pid, line})
	}
	return out
}
