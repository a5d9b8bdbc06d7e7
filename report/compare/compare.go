// Package compare sets two runs side by side, cell by cell: a ratio with its interval, a test, and an outcome.
package compare

import (
	"fmt"
	"slices"

	"msgbench/report/source"
	"msgbench/results"
)

// Result is the comparison of two runs, or of the two sides of one run.
type Result struct {
	Path        string      // of the run whose sides are compared; empty where two runs are
	Sides       *results.AB // what they are; nil for two runs. Then A is Old and B is New
	Old, New    string      // paths of two runs, or the names of two sides
	Margin      float64
	Differences []Difference
	// Calibrations are what both runs measured without any transport; Uncalibrated says why there is nothing to compare there.
	Calibrations []Calibrated
	Uncalibrated string
	Cells        []Cell   // those of both, in the order of the old run, or the pairs
	OnlyOld      []string // keys
	OnlyNew      []string
	Tests        int // how many p values were adjusted together
	Means        []Mean
}

// Cell is one cell of both runs. Old and New are the medians of its metric; Ratio is new / old with its interval.
type Cell struct {
	Key      string
	KeyB     string // of two sides, where Key is that of A
	Metric   string // column
	Higher   bool   // higher is better
	Old, New results.Num
	NOld     int // samples; of two sides both are the number of rounds that have one of each
	NNew     int
	Tested   bool // Ratio and what follows is there
	Ratio    float64
	Lo, Hi   float64
	Level    float64
	P        float64 // of this cell alone
	PHolm    float64 // adjusted for all tests
	Outcome  string
	Reason   string // of unsure
	oldRow   results.Row
	newRow   results.Row
}

// Mean is the geometric mean of the ratios of one metric, over the cells that were compared.
type Mean struct {
	Metric string
	Cells  int
	Ratio  float64
}

// Compare compares each cell of old that is in new too. margin (0.05 is 5 %) is what counts as the same.
func Compare(old, new source.Set, margin float64) (Result, error) {
	for _, s := range []*source.Set{&old, &new} {
		if err := s.Unique(); err != nil {
			return Result{}, err
		}
	}
	r := Result{Old: old.Path, New: new.Path, Margin: margin, Differences: differences(&old, &new)}
	byKey := new.ByKey()
	r.calibrate(&old, &new)
	several := severalMachines(&old) || severalMachines(&new)
	for i := range old.Cells {
		o := &old.Cells[i]
		n := byKey[o.Row.Cell]
		if n == nil {
			r.OnlyOld = append(r.OnlyOld, o.Row.Cell)
			continue
		}
		r.Cells = append(r.Cells, measure(o, n, several))
	}
	shared := old.ByKey()
	for _, n := range new.Cells {
		if shared[n.Row.Cell] == nil {
			r.OnlyNew = append(r.OnlyNew, n.Row.Cell)
		}
	}
	r.decide()
	if r.Moved() == "" { // means of what can't be told would pass for something that can
		r.means()
	}
	return r, nil
}

// severalMachines tells whether a run was merged from shards of more than one machine.
func severalMachines(set *source.Set) bool {
	return slices.ContainsFunc(set.Cells, func(c source.Cell) bool { return c.Row.Machine != set.Cells[0].Row.Machine })
}

// names are what reasons call the two that are compared.
type names struct{ old, new string }

var runs = names{"old", "new"}

// measure fills all but the outcome, which needs the other tests; where there is no test, the reason says why. Where a run is
// of several machines, a cell that was on another one the other time is not tested: nothing else would tell of that.
func measure(o, n *source.Cell, several bool) Cell {
	c := pick(o, n, runs)
	if c.Reason == "" && several && o.Row.Machine != n.Row.Machine {
		c.Reason = fmt.Sprintf("another machine: old %q, new %q", o.Row.Machine, n.Row.Machine)
	}
	if c.Reason != "" {
		return c
	}
	a, b := values(c.Metric, o.Samples), values(c.Metric, n.Samples)
	c.NOld, c.NNew = len(a), len(b)
	if slices.ContainsFunc(slices.Concat(a, b), func(v float64) bool { return !(v > 0) }) {
		c.Reason = "a sample has too few operations for " + c.Metric
		return c
	}
	c.Ratio, c.Lo, c.Hi, c.Level, c.Tested = ratioInterval(a, b)
	if !c.Tested {
		c.Reason = fmt.Sprintf("too few samples for an interval: %d and %d, want at least 4 and 4", len(a), len(b))
		return c
	}
	c.P = pValue(a, b)
	return c
}
