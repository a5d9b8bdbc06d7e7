package pinning

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ownSlack is the timer slack of the calling thread in ns.
func ownSlack() string {
	n, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return err.Error()
	}
	return strconv.Itoa(n)
}

func system(t *testing.T) Topology {
	t.Helper()
	topology, err := System()
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

func TestSystem(t *testing.T) {
	topology := system(t)
	if len(topology.CPUs) == 0 || len(topology.Allowed) == 0 || !topology.CanPin || topology.Cores() == 0 {
		t.Errorf("%+v", topology)
	}
	t.Logf("%+v", topology)
}

func TestStartPinned(t *testing.T) {
	topology := system(t)
	s := NewSpawner()
	defer s.Close()
	masks := [][]int{{topology.Allowed[len(topology.Allowed)-1]}, {topology.Allowed[0]}, topology.Allowed}
	if len(topology.Allowed) > 1 {
		masks = append(masks, topology.Allowed[:2])
	}
	for _, mask := range masks {
		cmd, told := begin(t, s, Options{CPUs: mask})
		if want := "GOMAXPROCS " + strconv.Itoa(len(mask)) + "\nslack 1\n"; len(mask) < 3 && told != want {
			t.Errorf("on %v: child told %q, want %q", mask, told, want)
		}
		threads, err := os.ReadDir("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/task")
		if err != nil {
			t.Fatal(err)
		}
		if len(threads) < 8 {
			t.Errorf("only %d threads to look at", len(threads))
		}
		for _, e := range threads {
			tid, _ := strconv.Atoi(e.Name())
			if got, err := Affinity(tid); err != nil || FormatList(got) != FormatList(mask) {
				t.Errorf("thread %d is on %v, %v; want %v", tid, got, err, mask)
			}
		}
		if got, err := ReadBack(cmd.Process.Pid); err != nil || FormatList(got) != FormatList(mask) {
			t.Errorf("read back %v, %v; want %v", got, err, mask)
		}
	}
	// The spawner's thread is as before: what comes next, unpinned, may run anywhere.
	own, err := Affinity(0)
	if err != nil {
		t.Fatal(err)
	}
	cmd, _ := begin(t, s, Options{})
	if got, err := ReadBack(cmd.Process.Pid); err != nil || FormatList(got) != FormatList(own) {
		t.Errorf("unpinned child is on %v, %v; want %v", got, err, own)
	}
}

// Threads of the parent keep their affinity, whatever was started.
func TestStartLeavesParent(t *testing.T) {
	before, err := ReadBack(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	topology := system(t)
	s := NewSpawner()
	for range 5 {
		begin(t, s, Options{CPUs: topology.Allowed[:1]})
	}
	s.Close()
	threads, _ := os.ReadDir("/proc/self/task")
	for _, e := range threads {
		tid, _ := strconv.Atoi(e.Name())
		if got, err := Affinity(tid); err == nil && FormatList(got) != FormatList(before) {
			t.Errorf("thread %d of the parent is on %v, was on %v", tid, got, before)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	s := NewSpawner()
	defer s.Close()
	allowed := system(t).Allowed
	for _, mask := range [][]int{{8000}, {allowed[0], 8000}} {
		err := s.Start(childCommand("child"), Options{CPUs: mask})
		if err == nil || !strings.Contains(err.Error(), "(allowed: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("mask %v: %v", mask, err)
		}
	}
	if _, err := ReadBack(-1); err == nil {
		t.Error("process -1 has a placement")
	}
}

// A parent that is killed without warning takes its children with it.
func TestKillWithParent(t *testing.T) {
	parent := childCommand("parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, convErr := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || convErr != nil {
		parent.Process.Kill()
		t.Fatalf("parent told %q", line)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("child %d: %v", pid, err)
	}
	parent.Process.Kill()
	parent.Wait()
	for end := time.Now().Add(10 * time.Second); running(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("child outlived its parent by 10 s")
		}
	}
}

// running is false for zombies: a container may lack an init that collects them.
func running(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// Close does not end what was started, KillWithParent or not.
func TestCloseKeepsChildren(t *testing.T) {
	s := NewSpawner()
	cmd, _ := begin(t, s, Options{KillWithParent: true})
	s.Close()
	time.Sleep(100 * time.Millisecond)
	if !running(cmd.Process.Pid) {
		t.Error("child ended with the spawner")
	}
}

func BenchmarkStart(b *testing.B) {
	s := NewSpawner()
	defer s.Close()
	topology, err := System()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		cmd := exec.Command("/bin/true")
		if err := s.Start(cmd, Options{CPUs: topology.Allowed[:1]}); err != nil {
			b.Fatal(err)
		}
		cmd.Wait()
	}
}
