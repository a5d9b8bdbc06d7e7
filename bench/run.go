// Package bench makes a run: suite → cells → rounds → samples → journal. It starts, watches and ends the processes, and
// formats nothing.
package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"msgbench/results"
	"msgbench/stability"
)

// Progress is told between samples how a run goes; never inside a window.
type Progress interface {
	// Round is called before the first sample of each round that has any left to take.
	Round(r RoundInfo)
	// Before is called before each sample: the cell, its place among the total (from 0), and about how long is left.
	Before(cell results.Cell, place, total int, left time.Duration)
	// After is called with each sample that was written to the journal.
	After(s results.Sample)
	// Width is called after After, with each valid sample of a run with a precision: how narrow the intervals of the cell are by now.
	Width(w stability.Width)
	// More is called before the cells that are not precise enough after so many rounds get more samples.
	More(keys []string, rounds int, takes time.Duration)
	// Rerun is called once before the cells that fell short are measured again.
	Rerun(keys []string, takes time.Duration)
}

// RoundInfo is one round: a sample of each cell, in an order of its own.
type RoundInfo struct {
	Attempt int // 0: the first; above it, cells are measured again
	Number  int // within the attempt, from 0
	Of      int // rounds that the attempt has
	Cells   int
}

// Measure measures the cells of r into its directory's journal and returns how many samples that holds. skip tells why a cell can't run here,
// or is empty. When ctx ends, the running sample is dropped, and the error is that of ctx; what was measured is in the
// journal. What an earlier, interrupted call has written there already is not measured again.
func Measure(ctx context.Context, dir string, r results.Run, skip func(results.Cell) string, s Sampler, p Progress) (kept int, err error) {
	m, closeJournal, err := newMatrix(dir, r, s, p)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := closeJournal(); err == nil {
			err = cerr
		}
	}()
	var cells []results.Cell
	for _, c := range Arrange(r.Policy, r.Cells) {
		if reason := skip(c); reason != "" {
			if m.over[c.Key()] {
				continue // said already
			}
			if m.index.Has(c.Key()) { // a skipped cell has no samples, and these are not to be lost
				return m.kept(), fmt.Errorf("%s has samples already, but can't run here now: %s", c.Key(), reason)
			}
			if err := m.write(results.Sample{Cell: c.Key(), Started: time.Now().UTC(), Outcome: results.Skipped, Reason: reason}); err != nil {
				return m.kept(), err
			}
			continue
		}
		cells = append(cells, c)
	}
	if err := m.attempt(ctx, cells, 0); err != nil {
		return m.kept(), err
	}
	if r.Policy.Reruns > 0 {
		again, err := m.fallenShort(cells)
		if err != nil {
			return m.kept(), err
		}
		if len(again) > 0 {
			if err := m.attempt(ctx, again, 1); err != nil {
				return m.kept(), err
			}
		}
	}
	if r.Policy.Ceiling {
		err = m.ceilings(ctx, cells)
	}
	return m.kept(), err
}

// Again measures cells of a run that is over again, as one more attempt, and returns how many samples its journal holds.
// Earlier attempts stay in it. keys are those of the cells, at least one.
func Again(ctx context.Context, dir string, r results.Run, keys map[string]bool, s Sampler, p Progress) (kept int, err error) {
	m, closeJournal, err := newMatrix(dir, r, s, p)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := closeJournal(); err == nil {
			err = cerr
		}
	}()
	m.over, m.budget = map[string]bool{}, budget{} // what earlier attempts have used is not this one's
	attempt := 1                                   // that of the policy's own reruns, which not every run has
	for _, x := range m.index.Entries {
		attempt = max(attempt, x.Attempt)
		m.round = max(m.round, x.Round+1)
	}
	var cells []results.Cell
	for _, c := range Arrange(r.Policy, r.Cells) {
		if keys[c.Key()] || keys[r.AB.Partner(c.Key())] { // a pair is measured in the same rounds
			cells = append(cells, c)
		}
	}
	err = m.attempt(ctx, cells, attempt+1)
	return m.kept(), err
}

// newMatrix opens the journal of a run and reads what it holds.
func newMatrix(dir string, r results.Run, s Sampler, p Progress) (*matrix, func() error, error) {
	path := filepath.Join(dir, results.JournalFile)
	// Opening it cuts off a line that a crash has torn.
	j, err := results.OpenJournal(path)
	if err != nil {
		return nil, nil, err
	}
	index, err := j.Index()
	if err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	known := map[string]bool{results.CalibrationCell: true}
	for _, c := range r.Cells {
		known[c.Key()] = true
	}
	m := &matrix{dir: dir, run: r, sampler: s, progress: p, journal: j, index: index, over: map[string]bool{}, turns: map[place]turn{}}
	for i, x := range index.Entries {
		if !known[x.Cell] {
			return nil, nil, errors.Join(fmt.Errorf("%s: line %d: cell %q is none of this run's: the journal belongs to another run", path, i+1, x.Cell), j.Close())
		}
		m.note(x)
	}
	for x, err := range index.Of(results.CalibrationCell) {
		if err != nil {
			return nil, nil, errors.Join(err, j.Close())
		}
		m.calibrations.Add(x)
	}
	return m, j.Close, nil
}

// place is where a sample belongs.
type place struct {
	cell           string
	attempt, round int
}

// matrix is a run while it goes on.
type matrix struct {
	dir          string
	run          results.Run
	told         bool // that the run went on, in run.json
	sampler      Sampler
	progress     Progress
	journal      *results.Journal
	index        *results.Index
	over         map[string]bool // cells with a failed sample: more samples would not change the verdict
	turns        map[place]turn
	budget       budget
	calibrations stability.Calibrations
	round        int
	at           int           // samples of the attempt so far,
	total        int           // and how many it is known to take
	spent        time.Duration // on samples so far,
	expected     time.Duration // and what they were expected to take
}

// fallenShort is the cells that the policy wants measured again, whole.
func (m *matrix) fallenShort(cells []results.Cell) ([]results.Cell, error) {
	keys, err := stability.Rerun(m.run, m.index)
	if err != nil {
		return nil, err
	}
	again := among(cells, keys)
	if len(again) > 0 {
		keys = keys[:0]
		for _, c := range again {
			keys = append(keys, c.Key())
		}
		m.progress.Rerun(keys, RunTime(m.run.Policy, again))
	}
	return again, nil
}

// scale corrects an expected time by what samples have really taken so far.
func (m *matrix) scale(d time.Duration) time.Duration {
	if m.expected == 0 {
		return d
	}
	return time.Duration(float64(d) * float64(m.spent) / float64(m.expected))
}

// cell takes one sample of a cell, and another one at once, twice at most, where it was rejected. Where it was disturbed the
// cell's turn is not over.
func (m *matrix) cell(ctx context.Context, c results.Cell, attempt int) error {
	m.expected += SampleTime(m.run.Policy, c)
	at := place{c.Key(), attempt, m.round}
	for !m.turns[at].over {
		begun := time.Now()
		s, err := m.sampler.Sample(ctx, c)
		if err != nil {
			return err
		}
		m.spent += time.Since(begun)
		s.Round, s.Attempt, s.Try = m.round, attempt, m.turns[at].tries
		// Whether it is to be measured again is decided before, and without, what its result was found to be. A process that
		// broke is no matter of time.
		if again := interfered(s.Interference, m.run.Policy, m.turns[at], m.budget); again && s.Outcome != results.Failed {
			s.Outcome, s.Reason = results.Disturbed, disturbance(s.Interference)
		}
		if s.Interference != nil && s.Outcome != results.OK { // what else is wrong with it keeps it out of the row
			s.Interference.Kept = false
		}
		if err := m.write(s); err != nil {
			return err
		}
		m.note(m.index.Entries[len(m.index.Entries)-1])
		m.progress.After(s)
		if m.run.Policy.Precision > 0 && s.Outcome == results.OK {
			width, err := stability.WidthOf(m.index.Of(c.Key()), attempt)
			if err != nil {
				return err
			}
			m.progress.Width(width)
		}
		if s.Outcome == results.Disturbed {
			return nil
		}
	}
	return nil
}

// kept is how many samples the journal holds.
func (m *matrix) kept() (n int) {
	for _, x := range m.index.Entries {
		if x.Outcome != results.Calibrated {
			n++
		}
	}
	return n
}

func (m *matrix) write(s results.Sample) error {
	s.Version, s.Order = results.FormatVersion, len(m.index.Entries)
	if n := len(m.run.Resumptions); n > 0 {
		last := m.run.Resumptions[n-1]
		if last.Boots != m.run.Boots() {
			s.Boots = last.Boots
		}
		// Not before there is something to tell of, and while nobody else can write: the journal is locked.
		if !m.told {
			if err := results.WriteRun(m.dir, m.run); err != nil {
				return err
			}
			m.told = true
		}
	}
	return m.journal.Append(s)
}
