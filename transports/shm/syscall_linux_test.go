//go:build !race

// Processes that share only memory: the race detector sees nothing there, and slows each side down by another factor.

package shm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"msgbench/transports"
)

// TestNoSystemCalls counts what two processes that both run ask of the kernel for each message: by our own counter of
// futex waits and by the kernel's count of voluntary context switches. With block, which sleeps for each message, both
// must count that.
func TestNoSystemCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("two processes and some seconds")
	}
	a, b := twoCPUs(t)
	const n = 50_000
	const few = 3000
	client, server := role{Size: 40, N: few, Options: transports.Options{Wait: transports.Block}}.run(t, a, b)
	if sum := client.Naps + server.Naps; sum < few/2 || client.Voluntary+server.Voluntary < few/2 {
		t.Errorf("block: %d futex waits and %d voluntary switches for %d round trips: the counters do not count",
			sum, client.Voluntary+server.Voluntary, few)
	}
	for _, stream := range []bool{false, true} {
		for try := 1; ; try++ { // other load on the machine takes a CPU from one of the two, and the other sleeps rightly
			client, server := role{Size: 40, N: n, Stream: stream}.run(t, a, b)
			naps, voluntary := client.Naps+server.Naps, client.Voluntary+server.Voluntary
			t.Logf("hybrid, stream=%v: %d futex waits, %d voluntary switches for %d messages", stream, naps, voluntary, n)
			if naps < n/50 && voluntary < n/50 {
				break
			}
			if try == 5 {
				t.Errorf("hybrid, stream=%v: %d futex waits and %d voluntary switches for %d messages", stream, naps, voluntary, n)
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
}

// TestStrace counts all system calls of a client, wakes included, from the outside.
func TestStrace(t *testing.T) {
	if testing.Short() {
		t.Skip("two processes and some seconds")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace")
	}
	a, b := twoCPUs(t)
	const n = 100_000
	log := filepath.Join(t.TempDir(), "strace")
	count := func(wait transports.Wait, n int) int {
		role{Size: 40, N: n, Options: transports.Options{Wait: wait}}.run(t, a, b, strace, "-f", "-c", "-o", log)
		out, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(out), "\n") {
			if f := strings.Fields(line); len(f) > 3 && f[len(f)-1] == "total" {
				calls, err := strconv.Atoi(f[3])
				if err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				return calls
			}
		}
		t.Skipf("strace can't trace here: %q", out)
		return 0
	}
	if calls := count(transports.Block, 2000); calls < 2000 {
		t.Errorf("block: %d system calls for 2000 round trips: strace does not see them", calls)
	}
	for try := 1; ; try++ {
		calls := count(transports.Hybrid, n)
		t.Logf("hybrid: %d system calls of the client's process in its whole life, %d round trips", calls, n)
		if calls < n/10 {
			break
		}
		if try == 5 {
			t.Errorf("hybrid: %d system calls for %d round trips", calls, n)
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// TestOneCore: two processes on one core get along, in all ways to wait; hybrid must find out that spinning is useless.
func TestOneCore(t *testing.T) {
	if testing.Short() {
		t.Skip("two processes and some seconds")
	}
	a, _ := twoCPUs(t)
	for _, x := range []struct {
		wait  transports.Wait
		n     int
		limit time.Duration
	}{{transports.Hybrid, 20_000, 100 * time.Microsecond}, {transports.Block, 20_000, 100 * time.Microsecond}, {transports.Spin, 500, 20 * time.Millisecond}} {
		var client outcome
		for range 3 {
			client, _ = role{Size: 40, N: x.n, Options: transports.Options{Wait: x.wait}}.run(t, a, a)
			t.Logf("wait=%s: round trip p50 %v, p99 %v on one core", x.wait, time.Duration(client.P50NS), time.Duration(client.P99NS))
			if time.Duration(client.P50NS) <= x.limit {
				break
			}
		}
		if p50 := time.Duration(client.P50NS); p50 > x.limit {
			t.Errorf("wait=%s: round trip p50 %v on one core, at most %v", x.wait, p50, x.limit)
		}
	}
}
