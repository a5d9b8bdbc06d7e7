package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/stability/ceiling"
)

// Stepper is a Sampler that can measure another window than that of the policy, as the search for a ceiling does.
type Stepper interface {
	// Step executes a cell once: so long to settle, and then so long a window.
	Step(ctx context.Context, cell results.Cell, settle, window time.Duration) (results.Sample, error)
}

var _ Stepper = (*Workers)(nil)

// Step is Sample with a warm-up and a window of its own.
func (w *Workers) Step(ctx context.Context, cell results.Cell, settle, window time.Duration) (results.Sample, error) {
	policy := w.policy
	defer func() { w.policy = policy }()
	w.policy.Count, w.policy.WarmupOps = 0, 0
	w.policy.Warmup, w.policy.Duration = results.Duration(settle), results.Duration(window)
	return w.Sample(ctx, cell)
}

// HasCeiling tells whether a search for the highest stable rate makes sense for a cell: one-way, at max, at rates of its own.
func HasCeiling(c results.Cell) bool { return c.Scenario == scenarios.DataRate.Name && c.Rate == 0 }

// stepProgress is a Progress that is told of the search, too.
type stepProgress interface {
	// Step is called before each try: its place in the search of that cell (from 0), and the rate that is offered.
	Step(cell results.Cell, place, rate int)
}

// The search begins at this share of what the cell does at max, or at startRate where that is not known.
const (
	startShare = 8
	startRate  = 1000
)

// ceilings searches for the ceiling of each cell that has one and did not fail, one cell after the other.
func (m *matrix) ceilings(ctx context.Context, cells []results.Cell) error {
	for _, c := range cells {
		if !HasCeiling(c) || m.over[c.Key()] {
			continue
		}
		if err := m.ceiling(ctx, c); err != nil {
			return err
		}
		m.round++
	}
	return nil
}

// ceiling goes on with the search of a cell where the samples so far have brought it.
func (m *matrix) ceiling(ctx context.Context, c results.Cell) error {
	stepper, ok := m.sampler.(Stepper)
	if !ok {
		return fmt.Errorf("%s: this cell's sampler can't search for a ceiling", c.Key())
	}
	var rates []float64
	var held []bool // of the tries so far
	for s, err := range m.index.Of(c.Key()) {
		switch {
		case err != nil:
			return err
		case s.Outcome == results.OK || s.Outcome == results.Rejected:
			rates = append(rates, s.Measurement.MessagesPerSecond())
		case s.Outcome == results.Search:
			held = append(held, s.Step.Holds)
		}
	}
	search := ceiling.New(startRateOf(rates), MaxRate)
	for _, holds := range held {
		search.Report(holds)
	}
	for place := len(held); ; place++ {
		rate, ok := search.Next()
		if !ok {
			return nil
		}
		if p, ok := m.progress.(stepProgress); ok {
			p.Step(c, place, rate)
		}
		offered := c
		offered.Rate = rate
		policy := m.run.Policy
		s, err := stepper.Step(ctx, offered, time.Duration(policy.CeilingSettle), time.Duration(policy.CeilingStep))
		if err != nil {
			return err
		}
		s.Cell, s.Round, s.Try = c.Key(), m.round, place
		asStep(&s, rate, policy.MinDelivered, time.Duration(policy.CeilingStep))
		if err := m.write(s); err != nil {
			return err
		}
		m.progress.After(s)
		search.Report(s.Step.Holds)
	}
}

// lateShare is how much of a step the sender's own lateness may be (p99, like that of samples, whose limit is far lower). A
// sample is to tell latencies; a step only tells a rate, which that much lateness moves by a tenth of what it may miss.
const lateShare = 1000

// asStep judges a sample at a rate of the search. One that failed does not hold.
func asStep(s *results.Sample, rate int, share float64, window time.Duration) {
	step := results.Step{Rate: rate}
	if s.Outcome != results.Failed {
		step, s.Reason = ceiling.Judge(rate, s.Measurement, share)
		if late := late(s.Measurement, rate, window/lateShare); step.Holds && late != "" {
			step.Holds, s.Reason = false, late
		}
	}
	s.Outcome, s.Step = results.Search, &step
}

// startRateOf is where the search of a cell begins: well below what it does at max, but a few doublings away at most.
func startRateOf(rates []float64) int {
	if len(rates) == 0 {
		return startRate
	}
	slices.Sort(rates)
	return max(int(rates[len(rates)/2])/startShare, 1)
}

// ceilingTries is about how many tries a search takes: three doublings and five halvings, and somewhat more than two tries each.
const ceilingTries = 20

// CeilingTime is about how long the searches for the ceilings of these cells take.
func CeilingTime(p results.Policy, cells []results.Cell) time.Duration {
	if !p.Ceiling {
		return 0
	}
	var d time.Duration
	for _, c := range cells {
		if HasCeiling(c) {
			d += ceilingTries * (overhead + time.Duration(p.CeilingSettle) + time.Duration(p.CeilingStep))
		}
	}
	return d
}
