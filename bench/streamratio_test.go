//go:build linux && !race

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"msgbench/results"
)

// TestStreamAgainstC holds data-rate over shm at 64 KiB and 1 MiB against the plain two-process ring in C (scripts/perf/stream.c): the
// median of interleaved pairs. It is a measurement, for a quiet machine: both spin, and whoever shares their CPUs decides.
func TestStreamAgainstC(t *testing.T) {
	if os.Getenv("MSGBENCH_PERF") == "" {
		t.Skip("MSGBENCH_PERF is not set")
	}
	if reason := probe("shm"); reason != "" {
		t.Skip(reason)
	}
	bin := filepath.Join(t.TempDir(), "stream")
	if out, err := exec.Command("cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", bin, "../scripts/perf/stream.c").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	w := testWorkers(t)
	w.policy.MaxDuration = results.Duration(time.Second)
	w.policy.MaxRamp = 1000
	for _, c := range []struct{ payload, messages int }{{64 << 10, 150_000}, {1 << 20, 6000}} {
		t.Run(fmt.Sprintf("%d KiB", c.payload>>10), func(t *testing.T) {
			cell := results.Cell{Scenario: "data-rate", Transport: "shm", Client: "go", Server: "go", Payload: c.payload}
			var ratios []float64
			for range 9 {
				s, err := w.Sample(context.Background(), cell)
				if err != nil || s.Outcome != results.OK {
					t.Fatalf("%s %s, %v", s.Outcome, s.Reason, err)
				}
				// As many bytes as ours, the envelope included, on the same CPUs.
				ring := exec.Command(bin, fmt.Sprint(c.payload+32), fmt.Sprint(c.messages), fmt.Sprint(s.Placement["client"].Allowed[0]),
					fmt.Sprint(s.Placement["server"].Allowed[0]))
				out, err := ring.Output()
				if err != nil {
					t.Fatal(err)
				}
				var plain float64
				if _, err := fmt.Sscanf(strings.TrimSpace(string(out)), "messages_per_s=%f", &plain); err != nil {
					t.Fatalf("%q: %v", out, err)
				}
				t.Logf("%.0f/s, C %.0f/s on CPUs %v and %v", s.Measurement.Throughput(), plain, s.Placement["client"].Allowed, s.Placement["server"].Allowed)
				ratios = append(ratios, s.Measurement.Throughput()/plain)
			}
			slices.Sort(ratios)
			t.Logf("against C: %.2f in the median, %.2f", ratios[4], ratios)
			if ratios[4] < 0.8 {
				t.Errorf("%.2f × the rate of the ring in C, want at least 0.8", ratios[4])
			}
		})
	}
}
