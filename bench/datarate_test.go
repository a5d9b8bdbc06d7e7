package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"msgbench/results"
)

// TestDataRate streams a few hundred messages over every transport, in processes: one channel and several, at max and on a
// schedule, small messages and the largest recipe.
func TestDataRate(t *testing.T) {
	w := testWorkers(t)
	w.policy.WarmupOps, w.policy.Warmup = 20, 0
	w.policy.MaxRamp = 1000
	w.limits.grace, w.limits.stop = 20*time.Second, 10*time.Second // others may have the CPUs
	cells := `name: streams
cells:
  - {scenario: data-rate, transport: TRANSPORTS, payload: [0, 1KiB], channels: 1}
  - {scenario: data-rate, transport: TRANSPORTS, payload: 128, channels: 4}
  - {scenario: data-rate, transport: TRANSPORTS, payload: 128, rate: 2000, channels: [1, 3]}
`
	s, err := ParseSuite("streams", []byte(replaceTransports(cells)), testCatalog())
	if err != nil {
		t.Fatal(err)
	}
	large, err := ParseSuite("large",
		[]byte(replaceTransports("name: large\ncells:\n  - {scenario: data-rate, transport: TRANSPORTS, payload: 3MiB}\n")), testCatalog())
	if err != nil {
		t.Fatal(err)
	}
	for i, cell := range append(s.Cells, large.Cells...) {
		if reason := probe(cell.Transport); reason != "" {
			t.Logf("%s: %s", cell.Key(), reason)
			continue
		}
		w.policy.Count = 300
		if i >= len(s.Cells) {
			w.policy.Count = 8
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		s, err := w.Sample(ctx, cell)
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", cell.Key(), err)
		}
		if s.Outcome == results.Failed {
			t.Errorf("%s: %s %v", cell.Key(), s.Reason, s.Stderr)
			continue
		}
		if m := s.Measurement; m.Received != w.policy.Count || m.Sent != m.Received || m.Lost != 0 {
			t.Errorf("%s: sent %d, received %d, lost %d", cell.Key(), m.Sent, m.Received, m.Lost)
		}
	}
}

// TestCeilingOfWorkers searches for a ceiling with real processes, in short steps.
func TestCeilingOfWorkers(t *testing.T) {
	w := testWorkers(t)
	w.limits.grace, w.limits.stop = 20*time.Second, 10*time.Second
	r := results.Run{Seed: 1, Policy: w.policy, Cells: []results.Cell{{Scenario: "data-rate", Transport: "pipe", Client: "go", Server: "go", Payload: 64}}}
	r.Policy.Samples, r.Policy.Reruns, r.Policy.Ceiling = 1, 0, true
	r.Policy.CeilingStep, r.Policy.CeilingSettle = results.Duration(100*time.Millisecond), 0
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	samples, err := Run(ctx, t.TempDir(), r, noSkip, w, &enough{stop: cancel})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	steps, measured := 0, 0
	for _, s := range samples {
		if s.Outcome != results.Search {
			continue
		}
		steps++
		if s.Measurement != nil {
			measured++
		} else if s.Reason != "no operation in the window" { // in which others had the CPUs
			t.Errorf("step at %d/s: %s %v", s.Step.Rate, s.Reason, s.Stderr)
		}
	}
	if steps < 4 || measured == 0 {
		t.Errorf("%d steps, %d of them with figures", steps, measured)
	}
}

// enough ends a search after a few steps.
type enough struct {
	events
	steps int
	stop  context.CancelFunc
}

func (e *enough) Step(results.Cell, int, int) {
	if e.steps++; e.steps > 5 {
		e.stop()
	}
}
