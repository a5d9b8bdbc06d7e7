//go:build !race

package bench

import (
	"context"
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
		for try := 0; ; try++ {
			s, err := w.Sample(context.Background(), results.Cell{Scenario: "batch", Transport: transport, Client: "go", Server: "go", Payload: results.NoPayload})
			switch {
			case err != nil:
				t.Fatal(err)
			case s.Outcome == results.OK:
				return s.Measurement.Throughput()
			case s.Outcome != results.Rejected || try == 10: // rejected is one that lost its CPU for a third of the window
				t.Fatalf("%s: %s %s", transport, s.Outcome, s.Reason)
			}
		}
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
