package bench

import (
	"fmt"
	"math"

	"msgbench/results"
)

// turn is how far a cell has come in a round.
type turn struct {
	tries     int // samples so far
	rejected  int
	disturbed int
	over      bool // has its sample, or as many rejected ones as it may
}

// maxDisturbed is how often a disturbed sample is measured again in its round, whatever the budget.
const maxDisturbed = 2

// note keeps what a sample says about its cell's turn and its round's budget: of this run, or of one that is resumed.
func (m *matrix) note(s results.Entry) {
	at := place{s.Cell, s.Attempt, s.Round}
	t := m.turns[at]
	t.tries = max(t.tries, s.Try+1)
	switch s.Outcome {
	case results.Calibrated, results.Search:
		return
	case results.Failed, results.Skipped:
		m.over[s.Cell] = true
		t.over = true
	case results.Rejected:
		t.rejected++
		t.over = t.rejected > maxRejections
	case results.Disturbed:
		t.disturbed++
		m.budget.used++
	default:
		t.over = true
	}
	m.turns[at] = t
}

// budget is how many disturbed samples may be measured again. It grows with each round, so that the first rounds can't use up
// what the last ones need; what a round leaves is the next one's.
type budget struct {
	granted float64
	used    int
}

// grant adds what a round of so many cells brings.
func (b *budget) grant(share float64, cells int) { b.granted += share * float64(cells) }

// left tells whether one more sample may be measured again. A part of one counts as a whole: the smallest run has one.
func (b *budget) left() bool { return float64(b.used) < math.Ceil(b.granted-1e-9) }

// disturbed tells whether others took more than a share of the CPUs' time from a sample, beyond what the kernel's counters may
// be off. It can't look at the result: that is no part of what it is given.
func disturbed(i *results.Interference, limit float64) bool {
	if i == nil || limit <= 0 {
		return false
	}
	return float64(i.StealNs+i.ForeignNs-i.StepNs) > limit*float64(i.ShareNs)
}

// disturbance says what a sample was disturbed by.
func disturbance(i *results.Interference) string {
	return fmt.Sprintf("steal %.1f %%, other processes %.1f %% of its CPUs' time: more than %g %%",
		100*i.Steal(), 100*i.Foreign(), 100*i.Limit)
}

// interfered judges the interference of a sample: whether it was disturbed, and whether it is to be measured again. It is given
// neither the result nor what was found to be wrong with it.
func interfered(i *results.Interference, p results.Policy, t turn, b budget) (again bool) {
	if i == nil {
		return false
	}
	i.Limit, i.Disturbed, i.Kept = p.MaxInterference, disturbed(i, p.MaxInterference), false
	if !i.Disturbed {
		return false
	}
	again = t.disturbed < maxDisturbed && b.left()
	i.Kept = !again
	return again
}
