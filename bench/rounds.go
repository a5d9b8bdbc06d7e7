package bench

import (
	"context"
	"time"

	"msgbench/results"
	"msgbench/stability"
)

// attempt measures each cell as often as the policy asks for: all of them, then, from look to look, those that are not
// precise enough.
func (m *matrix) attempt(ctx context.Context, cells []results.Cell, attempt int) error {
	done := 0
	m.at, m.total = 0, 0
	for look, n := range stability.Looks(m.run.Policy) {
		if look > 0 {
			keys, err := stability.GoOn(m.run, m.index, attempt, look-1)
			if err != nil || len(keys) == 0 {
				return err
			}
			cells = among(cells, keys)
			m.progress.More(keys, done, m.scale(timeOf(m.run.Policy, cells, n-done)))
		}
		if err := m.rounds(ctx, cells, attempt, done, n); err != nil {
			return err
		}
		done = n
	}
	return nil
}

// among keeps the cells with one of the keys.
func among(cells []results.Cell, keys []string) []results.Cell {
	wanted := map[string]bool{}
	for _, k := range keys {
		wanted[k] = true
	}
	var kept []results.Cell
	for _, c := range cells {
		if wanted[c.Key()] {
			kept = append(kept, c)
		}
	}
	return kept
}

// rounds measures each cell once in each of an attempt's rounds from one to below another, in the round's own order. Cells
// that are over keep their place in the order, so that it is the same when the run is resumed, but they take no time.
func (m *matrix) rounds(ctx context.Context, cells []results.Cell, attempt, from, to int) error {
	var left time.Duration
	for _, c := range cells {
		if !m.over[c.Key()] {
			m.total += to - from
			left += SampleTime(m.run.Policy, c) * time.Duration(to-from)
		}
	}
	calibrating := calibrations(m.run.Policy, cells)
	left += calibrating * time.Duration(to-from)
	for number := from; number < to; number++ {
		left -= calibrating
		m.budget.grant(m.run.Policy.Budget, len(cells))
		said := false
		var again []results.Cell
		for _, c := range Order(m.run.Policy, m.run.AB, m.run.Seed, m.round, cells) {
			if m.over[c.Key()] {
				continue
			}
			if !m.turns[place{c.Key(), attempt, m.round}].over {
				if !said {
					m.progress.Round(RoundInfo{Attempt: attempt, Number: number, Of: to, Cells: len(cells)})
					said = true
					if err := m.calibrate(ctx, attempt); err != nil {
						return err
					}
				}
				m.progress.Before(c, m.at, m.total, m.scale(left))
				if err := m.cell(ctx, c, attempt); err != nil {
					return err
				}
				if again = append(again, c); m.run.AB != nil { // the two of a pair belong next to each other
					if err := m.undisturbed(ctx, again, attempt, left); err != nil {
						return err
					}
					again = nil
				}
			}
			m.at++
			saved := 1
			if m.over[c.Key()] {
				saved = to - number
				m.total -= saved - 1
			}
			left -= SampleTime(m.run.Policy, c) * time.Duration(saved)
		}
		// Those that were disturbed, once more: by now what disturbed them may be over.
		if err := m.undisturbed(ctx, again, attempt, left); err != nil {
			return err
		}
		m.round++
	}
	return nil
}

// undisturbed measures those of the cells again whose turn is not over.
func (m *matrix) undisturbed(ctx context.Context, cells []results.Cell, attempt int, left time.Duration) error {
	for range maxDisturbed {
		for _, c := range cells {
			if m.over[c.Key()] || m.turns[place{c.Key(), attempt, m.round}].over {
				continue
			}
			m.progress.Before(c, max(m.at-1, 0), m.total, m.scale(left))
			if err := m.cell(ctx, c, attempt); err != nil {
				return err
			}
		}
	}
	return nil
}
