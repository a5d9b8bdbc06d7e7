//go:build !race

package bench

import (
	"slices"
	"testing"
	"time"

	"msgbench/results"
)

// TestShmBatchAgainstTCP asks for half of the goal (4 ×, docs/performance.md), as median of interleaved pairs.
func TestShmBatchAgainstTCP(t *testing.T) {
	if reason := probe("shm"); reason != "" {
		t.Skip(reason)
	}
	w := testWorkers(t)
	w.policy.MaxDuration = results.Duration(150 * time.Millisecond)
	w.policy.MaxRamp = 1000
	items := func(transport string) float64 {
		c := results.Cell{Scenario: "batch", Transport: transport, Client: "go", Server: "go", Payload: results.NoPayload}
		return kept(t, w, c).Throughput()
	}
	var ratios []float64
	for range 7 {
		ratios = append(ratios, items("shm")/items("tcp"))
	}
	slices.Sort(ratios)
	t.Logf("shm against tcp, items per second: %.1f × in the median, %.1f", ratios[3], ratios)
	if ratios[3] < 2 {
		t.Errorf("shm batch does %.2f × the items of tcp batch, want at least 2 (goal: 4)", ratios[3])
	}
}

// kept measures a cell until the sample counts, as a run does: one that lost its CPU for a third of the window is rejected.
func kept(t *testing.T, w *Workers, c results.Cell) *results.Measurement {
	t.Helper()
	for try := 0; ; try++ {
		s, err := w.Sample(t.Context(), c)
		switch {
		case err != nil:
			t.Fatalf("%s: %v", c.Key(), err)
		case s.Outcome == results.OK:
			return s.Measurement
		case s.Outcome != results.Rejected || try == 10:
			t.Fatalf("%s: %s %s", c.Key(), s.Outcome, s.Reason)
		}
	}
}
