package pinning

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain doubles as a child with many threads, which tells what it was born with and ends with its stdin, and as a
// parent of such a child.
func TestMain(m *testing.M) {
	switch os.Getenv("PINNING_TEST_CHILD") {
	case "child":
		childMain()
	case "parent":
		parentMain()
	default:
		os.Exit(m.Run())
	}
}

func childMain() {
	for range 8 {
		go func() {
			runtime.LockOSThread()
			select {}
		}()
	}
	time.Sleep(20 * time.Millisecond)
	fmt.Printf("GOMAXPROCS %d\n", runtime.GOMAXPROCS(0))
	fmt.Printf("slack %s\n", ownSlack())
	io.Copy(io.Discard, os.Stdin)
}

// parentMain starts a child that is to be killed with it, tells its pid, and waits to be killed.
func parentMain() {
	s := NewSpawner()
	cmd := childCommand("child")
	in, _ := cmd.StdinPipe() // never closed: only the kernel ends this child
	defer in.Close()
	if err := s.Start(cmd, Options{KillWithParent: true}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(cmd.Process.Pid)
	select {}
}

func childCommand(what string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	// Under the race detector a program stays for a second after its end.
	cmd.Env = append(os.Environ(), "PINNING_TEST_CHILD="+what, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// begin starts a child and reads its two lines. The child ends with the test.
func begin(t *testing.T, s *Spawner, o Options) (cmd *exec.Cmd, told string) {
	t.Helper()
	cmd = childCommand("child")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(cmd, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for len(told) == 0 || !strings.Contains(told, "slack") {
		if !lines.Scan() {
			t.Fatalf("child told only %q", told)
		}
		told += lines.Text() + "\n"
	}
	return cmd, told
}

func TestStartEverywhere(t *testing.T) {
	s := NewSpawner()
	defer s.Close()
	cmd, _ := begin(t, s, Options{})
	if cmd.Process.Pid <= 0 {
		t.Error("no process")
	}
	if err := s.Start(exec.Command("/does/not/exist"), Options{}); err == nil {
		t.Error("started what does not exist")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			cmd := childCommand("child")
			if err := s.Start(cmd, Options{}); err != nil {
				t.Error(err)
				return
			}
			cmd.Wait() // its stdin is empty
		})
	}
	wg.Wait()
}

func TestStartClosed(t *testing.T) {
	s := NewSpawner()
	s.Close()
	s.Close()
	for range 100 { // the thread may still be there for an instant; no start may hang
		s.Start(exec.Command("/does/not/exist"), Options{})
	}
	if err := s.Start(exec.Command("/does/not/exist"), Options{}); err == nil {
		t.Error("started after Close")
	}
}
