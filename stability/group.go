package stability

import (
	"cmp"
	"fmt"
	"iter"
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
	steps    []*placed // of the search for its ceiling, in the order of the journal
}

// attempt is one whole measuring of a cell: the first, or a rerun.
type attempt struct {
	number  int
	samples []*placed // by round, then try
	joint   *joint    // what the valid ones come to; nil where there are none, or nobody asks for rows
}

// placed is what is kept of a sample: neither its histograms, which are most of it, nor what only the row of its attempt joins.
// So a journal may be larger than the memory.
type placed struct {
	line, order         int // line in the journal, from 1
	round, attempt, try int
	outcome, reason     string
	boots               string // as in results.Sample
	wallNs              int64
	measured            bool    // what follows is there
	timed               bool    // it has service times
	throughput          float64 // operations per second
	messages            float64 // per second
	p50                 float64 // of the service time in ns; NaN where too few operations tell it
	stealNs, foreignNs  int64   // as in results.Interference
	shareNs             int64   // 0: nobody told
	kept                bool    // disturbed, but not measured again
	step                *results.Step
	figures             *Figures // of a valid one; nil where nobody asks for rows
}

// place takes from a sample what is kept of it.
func place(s *results.Sample) *placed {
	p := &placed{
		line: s.Line, order: s.Order, round: s.Round, attempt: s.Attempt, try: s.Try,
		outcome: s.Outcome, reason: s.Reason, wallNs: s.WallNs, step: s.Step, boots: s.Boots,
	}
	if m := s.Measurement; m != nil {
		h := serviceHist(m)
		p.measured, p.timed = true, h.Count() > 0
		p.throughput, p.messages, p.p50 = m.Throughput(), m.MessagesPerSecond(), quantile(h, 0.5)
	}
	if i := s.Interference; i != nil {
		p.stealNs, p.foreignNs, p.shareNs, p.kept = i.StealNs, i.ForeignNs, i.ShareNs, i.Kept
	}
	return p
}

// Samples are those of a run, read cell by cell, each of them once. results.Index is one.
type Samples interface {
	Cells() []string // keys of the cells that have any
	Of(cell string) iter.Seq2[results.Sample, error]
}

// group reads the samples of a run. With an aggregator, the valid ones of each attempt are joined to a row.
func group(run results.Run, samples Samples, a *aggregator) ([]cellSamples, error) {
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
	for _, key := range samples.Cells() {
		if _, known := index[key]; known {
			continue
		}
		for s, err := range samples.Of(key) {
			if err != nil {
				return nil, err
			}
			if s.Outcome != results.Calibrated { // which is of the run, not of a cell: see Calibrations
				return nil, fmt.Errorf("line %d: cell %q is none of this run's: the journal belongs to another run", s.Line, s.Cell)
			}
		}
	}
	for i := range groups {
		g := &groups[i]
		g.partner = -1
		if k, ok := index[run.AB.Partner(g.key)]; ok {
			g.partner = k
		}
		if err := g.read(samples.Of(g.key), a); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// read takes in the samples of one cell.
func (g *cellSamples) read(samples iter.Seq2[results.Sample, error], a *aggregator) error {
	var list []*placed
	valid := map[int]*pool{} // by attempt
	for s, err := range samples {
		if err != nil {
			return err
		}
		switch s.Outcome {
		case results.Calibrated:
			continue
		case results.Search:
			if s.Step == nil {
				return fmt.Errorf("line %d: step without its rate", s.Line)
			}
			g.steps = append(g.steps, place(&s))
			continue
		case results.OK, results.Rejected, results.Disturbed, results.Failed, results.Skipped:
		default:
			return fmt.Errorf("line %d: outcome %q: want ok, rejected, disturbed, failed, skipped, step or calibration", s.Line, s.Outcome)
		}
		if s.Outcome == results.OK && s.Measurement == nil {
			return fmt.Errorf("line %d: ok sample without a measurement", s.Line)
		}
		p := place(&s)
		if a != nil && s.Outcome == results.OK {
			p.figures = a.figures(g, &s)
			if valid[s.Attempt] == nil {
				valid[s.Attempt] = a.pool()
			}
			valid[s.Attempt].add(&s)
		}
		list = append(list, p)
	}
	slices.SortFunc(list, inTime)
	for n, p := range list {
		if n > 0 && inTime(list[n-1], p) == 0 {
			return fmt.Errorf("lines %d and %d are the same sample: attempt %d, round %d, try %d of %s",
				min(list[n-1].line, p.line), max(list[n-1].line, p.line), p.attempt, p.round, p.try, g.key)
		}
		if last := len(g.attempts) - 1; last < 0 || g.attempts[last].number != p.attempt {
			g.attempts = append(g.attempts, attempt{number: p.attempt})
		}
		at := &g.attempts[len(g.attempts)-1]
		at.samples = append(at.samples, p)
	}
	for i := range g.attempts {
		if v := valid[g.attempts[i].number]; v != nil {
			g.attempts[i].joint = a.join(g, v)
		}
	}
	return nil
}

// inTime orders the samples of one cell.
func inTime(a, b *placed) int {
	return cmp.Or(cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.round, b.round), cmp.Compare(a.try, b.try))
}

// of gives the samples of one outcome.
func (a attempt) of(outcome string) []*placed {
	var list []*placed
	for _, p := range a.samples {
		if p.outcome == outcome {
			list = append(list, p)
		}
	}
	return list
}

// rounds is how many rounds of the attempt have a sample. One that was disturbed does not count: another one follows it.
func (a attempt) rounds() int {
	n, last := 0, -1
	for _, p := range a.samples {
		if p.outcome != results.Disturbed && p.round != last {
			n++
			last = p.round
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
