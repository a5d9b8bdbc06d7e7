package stability

import (
	"cmp"
	"fmt"
	"slices"

	"msgbench/results"
)

// cellSamples is a cell with all its samples.
type cellSamples struct {
	cell     results.Cell
	key      string
	attempts []attempt // ascending, those that have samples
	states   []state   // of the attempts, once settled
	partner  int       // the other cell of its pair, as an index; -1: none
	steps    []placed  // of the search for its ceiling, in the order of the journal
}

// attempt is one whole measuring of a cell: the first, or a rerun.
type attempt struct {
	number  int
	samples []placed // by round, then try
}

// placed is a sample and its line in the journal, from 1.
type placed struct {
	*results.Sample
	line int
}

// group sorts the samples to the cells of the run.
func group(run results.Run, samples []results.Sample) ([]cellSamples, error) {
	groups := make([]cellSamples, len(run.Cells))
	index := make(map[string]int, len(run.Cells))
	for i, c := range run.Cells {
		key := c.Key()
		if _, twice := index[key]; twice {
			return nil, fmt.Errorf("cell %s stands twice in the run", key)
		}
		index[key] = i
		groups[i] = cellSamples{cell: c, key: key}
	}
	for i := range groups {
		groups[i].partner = -1
		if k, ok := index[run.AB.Partner(groups[i].key)]; ok {
			groups[i].partner = k
		}
	}
	byCell := make([][]placed, len(groups))
	for n := range samples {
		s := &samples[n]
		if s.Outcome == results.Calibrated {
			continue // of the run, not of a cell: see Calibrations
		}
		line := s.Line
		if line == 0 { // not read from a journal
			line = n + 1
		}
		i, known := index[s.Cell]
		if !known {
			return nil, fmt.Errorf("line %d: cell %q is none of this run's: the journal belongs to another run", line, s.Cell)
		}
		switch s.Outcome {
		case results.Search:
			if s.Step == nil {
				return nil, fmt.Errorf("line %d: step without its rate", line)
			}
			groups[i].steps = append(groups[i].steps, placed{s, line})
			continue
		case results.OK, results.Rejected, results.Disturbed, results.Failed, results.Skipped:
		default:
			return nil, fmt.Errorf("line %d: outcome %q: want ok, rejected, disturbed, failed, skipped, step or calibration", line, s.Outcome)
		}
		if s.Outcome == results.OK && s.Measurement == nil {
			return nil, fmt.Errorf("line %d: ok sample without a measurement", line)
		}
		byCell[i] = append(byCell[i], placed{s, line})
	}
	for i, list := range byCell {
		slices.SortFunc(list, inTime)
		for n, p := range list {
			if n > 0 && inTime(list[n-1], p) == 0 {
				return nil, fmt.Errorf("lines %d and %d are the same sample: attempt %d, round %d, try %d of %s",
					min(list[n-1].line, p.line), max(list[n-1].line, p.line), p.Attempt, p.Round, p.Try, p.Cell)
			}
			g := &groups[i]
			if last := len(g.attempts) - 1; last < 0 || g.attempts[last].number != p.Attempt {
				g.attempts = append(g.attempts, attempt{number: p.Attempt})
			}
			at := &g.attempts[len(g.attempts)-1]
			at.samples = append(at.samples, p)
		}
	}
	return groups, nil
}

// inTime orders the samples of one cell.
func inTime(a, b placed) int {
	return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Round, b.Round), cmp.Compare(a.Try, b.Try))
}

// of gives the samples of one outcome.
func (a attempt) of(outcome string) []placed {
	var list []placed
	for _, p := range a.samples {
		if p.Outcome == outcome {
			list = append(list, p)
		}
	}
	return list
}

// rounds is how many rounds of the attempt have a sample. One that was disturbed does not count: another one follows it.
func (a attempt) rounds() int {
	n, last := 0, -1
	for _, p := range a.samples {
		if p.Outcome != results.Disturbed && p.Round != last {
			n++
			last = p.Round
		}
	}
	return n
}

// deciding gives the attempt that decides, as an index into attempts: the last one that was measured whole, or in which
// a process failed. A rerun that was interrupted does not count until it is resumed and whole: otherwise stopping at a
// lucky moment would turn an unstable cell into a recovered one. The first attempt always counts.
func (g cellSamples) deciding() int {
	for i := len(g.attempts) - 1; i > 0; i-- {
		if g.states[i].ending != unfinished || g.attempts[i].over() {
			return i
		}
	}
	return 0
}
