// Package bench makes a run: suite → cells → rounds → samples → journal. It starts, watches and ends the processes, and
// formats nothing.
package bench

import (
	"context"
	"path/filepath"
	"time"

	"msgbench/results"
	"msgbench/stability"
)

// Progress is told between samples how a run goes; never inside a window.
type Progress interface {
	// Before is called before each sample: the cell, its place among the total (from 0), and about how long is left.
	Before(cell results.Cell, place, total int, left time.Duration)
	// After is called with each sample that was written to the journal.
	After(s results.Sample)
	// Rerun is called once before the cells that fell short are measured again.
	Rerun(keys []string, takes time.Duration)
}

// Run measures the cells of r into its directory's journal and returns all samples. skip tells why a cell can't run here,
// or is empty. When ctx ends, the running sample is dropped, and the error is that of ctx; what was measured is in the
// journal and returned.
func Run(ctx context.Context, dir string, r results.Run, skip func(results.Cell) string, s Sampler, p Progress) (samples []results.Sample, err error) {
	j, err := results.OpenJournal(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := j.Close(); err == nil {
			err = cerr
		}
	}()
	m := &matrix{run: r, sampler: s, progress: p, journal: j, over: map[string]bool{}}
	var cells []results.Cell
	for _, c := range r.Cells {
		if reason := skip(c); reason != "" {
			if err := m.write(results.Sample{Cell: c.Key(), Started: time.Now().UTC(), Outcome: results.Skipped, Reason: reason}); err != nil {
				return m.samples, err
			}
			continue
		}
		cells = append(cells, c)
	}
	if err := m.rounds(ctx, cells, 0); err != nil {
		return m.samples, err
	}
	if r.Policy.Reruns > 0 {
		again, err := m.fallenShort(cells)
		if err != nil {
			return m.samples, err
		}
		if len(again) > 0 {
			if err := m.rounds(ctx, again, 1); err != nil {
				return m.samples, err
			}
		}
	}
	if r.Policy.Ceiling {
		return m.samples, m.ceilings(ctx, cells)
	}
	return m.samples, nil
}

// matrix is a run while it goes on.
type matrix struct {
	run      results.Run
	sampler  Sampler
	progress Progress
	journal  *results.Journal
	samples  []results.Sample
	over     map[string]bool // cells with a failed sample: more samples would not change the verdict
	round    int
	spent    time.Duration // on samples so far,
	expected time.Duration // and what they were expected to take
}

// fallenShort is the cells that the policy wants measured again, whole.
func (m *matrix) fallenShort(cells []results.Cell) ([]results.Cell, error) {
	keys, err := stability.Rerun(m.run, m.samples)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, k := range keys {
		wanted[k] = true
	}
	var again []results.Cell
	for _, c := range cells {
		if wanted[c.Key()] {
			again = append(again, c)
		}
	}
	if len(again) > 0 {
		m.progress.Rerun(keys, RunTime(m.run.Policy, again))
	}
	return again, nil
}

// rounds measures each cell once a round, in the round's own order.
func (m *matrix) rounds(ctx context.Context, cells []results.Cell, attempt int) error {
	total := len(cells) * m.run.Policy.Samples
	left := RunTime(m.run.Policy, cells)
	place := 0
	for range m.run.Policy.Samples {
		for _, i := range Round(m.run.Seed, m.round, len(cells)) {
			c := cells[i]
			expected := SampleTime(m.run.Policy, c)
			if !m.over[c.Key()] {
				m.progress.Before(c, place, total, m.scale(left))
				if err := m.cell(ctx, c, attempt); err != nil {
					return err
				}
			}
			place++
			left -= expected
		}
		m.round++
	}
	return nil
}

// scale corrects an expected time by what samples have really taken so far.
func (m *matrix) scale(d time.Duration) time.Duration {
	if m.expected == 0 {
		return d
	}
	return time.Duration(float64(d) * float64(m.spent) / float64(m.expected))
}

// cell takes one sample of a cell, and another one at once, twice at most, where it was rejected.
func (m *matrix) cell(ctx context.Context, c results.Cell, attempt int) error {
	m.expected += SampleTime(m.run.Policy, c)
	for try := range maxRejections + 1 {
		begun := time.Now()
		s, err := m.sampler.Sample(ctx, c)
		if err != nil {
			return err
		}
		m.spent += time.Since(begun)
		s.Round, s.Attempt, s.Try = m.round, attempt, try
		if err := m.write(s); err != nil {
			return err
		}
		m.progress.After(s)
		switch s.Outcome {
		case results.Failed:
			m.over[c.Key()] = true
			return nil
		case results.Rejected:
			continue
		}
		return nil
	}
	return nil
}

func (m *matrix) write(s results.Sample) error {
	s.Version, s.Order = results.FormatVersion, len(m.samples)
	if err := m.journal.Append(s); err != nil {
		return err
	}
	m.samples = append(m.samples, s)
	return nil
}
