package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"msgbench/results"
)

var leakSamples = flag.Int("leak.samples", 24, "samples of TestLeavesAll")

// state is what a runner holds: descriptors, goroutines, bytes of its heap in use, resident bytes, and what is in /dev/shm.
type state struct {
	files, goroutines int
	heap, rss         int64
	shm               []string
}

func stateNow(t *testing.T) (s state) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	s.files, s.goroutines = len(files), runtime.NumGoroutine()
	runtime.GC()
	runtime.GC() // what the first one has finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.heap = int64(m.HeapAlloc)
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	if _, err := fmt.Sscan(rest, &s.rss); err != nil {
		t.Fatal(err)
	}
	s.rss <<= 10
	entries, err := os.ReadDir("/dev/shm")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		s.shm = append(s.shm, e.Name())
	}
	return s
}

// A run leaves descriptors, memory and /dev/shm as it found them: those of the runner are counted once it has started all that
// it keeps, and at the end. testWorkers looks after the folder of the endpoints.
func TestLeavesAll(t *testing.T) {
	w := testWorkers(t)
	w.policy.Duration, w.policy.MaxDuration, w.policy.Warmup = results.Duration(20*time.Millisecond), results.Duration(20*time.Millisecond), 0
	w.policy.MaxRamp, w.policy.MaxInterference, w.policy.Calibrate, w.policy.Reruns = 1000, 0, false, 0
	run := results.Run{Seed: 1, Policy: w.policy}
	for _, transport := range []string{"pipe", "shm", "uds", "tcp", "zmq-ipc", "nng-tcp"} {
		run.Cells = append(run.Cells, results.Cell{Scenario: "ping-pong", Transport: transport, Client: "go", Server: "go", Payload: 64})
	}
	measure := func(samples int) {
		run.Policy.Samples = samples
		kept, err := Measure(context.Background(), t.TempDir(), run, noSkip, w, &events{})
		if err != nil || kept < samples*len(run.Cells) {
			t.Fatalf("%d samples, %v", kept, err)
		}
	}
	measure(1)
	before := stateNow(t)
	n := (*leakSamples + len(run.Cells) - 1) / len(run.Cells)
	measure(n)
	// A process that has just ended may still be on its way out of here.
	after := stateNow(t)
	for deadline := time.Now().Add(5 * time.Second); after.goroutines > before.goroutines && time.Now().Before(deadline); after = stateNow(t) {
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("%d samples: %d to %d descriptors, %d to %d goroutines, %d to %d KiB of heap, %d to %d MiB resident", n*len(run.Cells),
		before.files, after.files, before.goroutines, after.goroutines, before.heap>>10, after.heap>>10, before.rss>>20, after.rss>>20)
	if after.files > before.files || after.goroutines > before.goroutines {
		t.Error("descriptors or goroutines are left")
	}
	if grown := after.heap - before.heap; grown > 512<<10 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	if !raceEnabled && after.rss > 100e6 {
		t.Errorf("%d MB resident", after.rss/1e6)
	}
	// Others may use /dev/shm too, but not under these names.
	for _, name := range after.shm {
		if strings.Contains(name, "msgbench") && !slices.Contains(before.shm, name) {
			t.Errorf("/dev/shm/%s is left", name)
		}
	}
}
