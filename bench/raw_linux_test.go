//go:build !race

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"msgbench/pinning"
	"msgbench/results"
)

// TestAgainstRaw holds pipe and uds against the same ping-pong in C over bare blocking read and write, with the same bytes
// on the wire and on the same CPUs, as median of interleaved pairs. It asks for half of the goals (0.9 and 0.95 ×); with
// MSGBENCH_PERF=N it takes N pairs of a second each.
func TestAgainstRaw(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	bin := filepath.Join(t.TempDir(), "raw")
	if out, err := exec.Command("cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", bin, "../scripts/perf/raw.c").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	rounds, window := 5, 200*time.Millisecond
	if n, err := strconv.Atoi(os.Getenv("MSGBENCH_PERF")); err == nil && n > 0 {
		rounds, window = n, time.Second
	}
	for _, c := range []struct {
		transport string
		framing   int // bytes beyond the envelope and the payload
		goal      float64
	}{{"pipe", 4, 0.9}, {"uds", 4, 0.95}} {
		t.Run(c.transport, func(t *testing.T) {
			w := testWorkers(t)
			w.policy.MaxDuration, w.policy.MaxRamp = results.Duration(window), 1000
			w.policy.Warmup = results.Duration(200 * time.Millisecond)
			cell := testCell(c.transport, 0)
			placed, err := Place(w.plan, w.topology, cell)
			if err != nil {
				t.Fatal(err)
			}
			cpus := []string{pinning.FormatList(placed[results.Client]), pinning.FormatList(placed[results.Server])}
			var p50, rate []float64
			for range rounds {
				rawP50, rawRate := runRaw(t, bin, c.transport, window, 96+c.framing, cpus)
				m := kept(t, w, cell)
				v, ok := m.Latency.Quantile(0.5)
				if !ok {
					t.Fatalf("only %d operations", m.Ops)
				}
				p50 = append(p50, rawP50/float64(v))
				rate = append(rate, m.Throughput()/rawRate)
			}
			slices.Sort(p50)
			slices.Sort(rate)
			t.Logf("%s, %d pairs: throughput %.3f × raw in the median (%.3f to %.3f), p50 raw/ours %.3f", c.transport, rounds,
				rate[rounds/2], rate[0], rate[rounds-1], p50[rounds/2])
			if rate[rounds/2] < c.goal/2 {
				t.Errorf("%s does %.3f × the round trips of bare read and write, want at least %.3f (goal: %.2f)", c.transport, rate[rounds/2], c.goal/2, c.goal)
			}
		})
	}
}

// runRaw returns the p50 in ns and the round trips per second of the C program.
func runRaw(t *testing.T, bin, transport string, window time.Duration, bytes int, cpus []string) (p50, rate float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), window+30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, bin, transport, fmt.Sprint(window.Seconds()), strconv.Itoa(bytes), cpus[0], cpus[1]).Output()
	if err != nil {
		t.Fatalf("raw %s: %v", transport, err)
	}
	if _, err := fmt.Sscan(string(out), &p50, &rate); err != nil || p50 <= 0 || rate <= 0 {
		t.Fatalf("raw printed %q: %v", out, err)
	}
	return p50, rate
}
