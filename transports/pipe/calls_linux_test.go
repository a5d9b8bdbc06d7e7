package pipe

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"msgbench/transports"
	"msgbench/transports/internal/frame"
	"msgbench/transports/internal/rawfd"
)

// calls are how many read and write system calls this thread has made.
func calls(t *testing.T) (reads, writes int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/io", unix.Gettid()))
	if err != nil {
		t.Skipf("the kernel does not count system calls: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		fmt.Sscanf(line, "syscr: %d", &reads)
		fmt.Sscanf(line, "syscw: %d", &writes)
	}
	return reads, writes
}

// TestSystemCalls asks the kernel how many system calls a message takes: one read and one write.
func TestSystemCalls(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, wait := range New().Info().Waits {
		for _, size := range []int{0, 40, 30000} {
			var p [2]int
			if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			fd, err := rawfd.Pipes(p[0], p[1], wait) // to itself
			if err != nil {
				t.Fatal(err)
			}
			c := frame.NewConn("pipe", fd, transports.DefaultMaxMessage, func(int) int { return 1 }, nil)
			msg := make([]byte, size)
			const n = 100
			reads, writes := calls(t)
			for range n {
				if err := c.Send(msg); err != nil {
					t.Fatal(err)
				}
				if got, err := c.Recv(); err != nil || len(got) != size {
					t.Fatalf("got %d B, error %v", len(got), err)
				}
			}
			reads2, writes2 := calls(t)
			own := 2 // reading the counters: a read of the text and one of its end
			if r, w := reads2-reads-own, writes2-writes; r != n || w != n {
				t.Errorf("wait=%s: %d reads and %d writes for %d messages of %d B, want one each", wait, r, w, n, size)
			}
			c.Close()
		}
	}
}
