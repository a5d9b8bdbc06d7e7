// Package compare sets two runs side by side, cell by cell: a ratio with its interval, a test, and an outcome.
package compare

import (
	"fmt"
	"math"
	"slices"

	"msgbench/report/source"
	"msgbench/results"
)

// The outcomes, in the order in which people want to see them.
const (
	Worse  = "worse"
	Better = "better"
	Unsure = "unsure" // with a reason
	Same   = "same"   // the whole interval is within the margin
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

// Difference is a fact of the two runs that is not the same.
type Difference struct{ Fact, Old, New string }

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

// alpha is the level of the tests.
const alpha = 0.05

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

// pick chooses the metric of two rows, or gives the reason why they are not compared.
func pick(o, n *source.Cell, names names) Cell {
	c := Cell{Key: o.Row.Cell, oldRow: o.Row, newRow: n.Row}
	c.Metric, c.Reason = metric(&o.Row, &n.Row, names)
	c.Higher = c.Metric == throughput
	c.Old, _ = o.Row.Number(c.Metric)
	c.New, _ = n.Row.Number(c.Metric)
	if why := unusable(names.old, &o.Row); why != "" {
		c.Reason = why
	} else if why := unusable(names.new, &n.Row); why != "" {
		c.Reason = why
	}
	if c.Reason != "" {
		return c
	}
	for _, s := range []struct {
		name string
		cell *source.Cell
	}{{names.old, o}, {names.new, n}} {
		if s.cell.NoSamples != "" {
			c.Reason = s.name + ": " + s.cell.NoSamples
			return c
		}
	}
	return c
}

// unusable says why a row is not compared. What else makes two rows no fair comparison belongs here and in metric.
func unusable(name string, r *results.Row) string {
	if results.Publishable(r.Verdict) {
		return ""
	}
	if r.Reason == "" {
		return name + " is " + r.Verdict
	}
	return fmt.Sprintf("%s is %s: %s", name, r.Verdict, r.Reason)
}

// The columns that are compared.
const (
	throughput = "throughput"
	service    = "svc_p50_us"
	latency    = "p50_us"
)

// metric is the column that two rows are compared by: throughput at max, and where a rate was too much for either of
// them; the median service time at a fixed rate, or the median latency where there is no other.
func metric(o, n *results.Row, names names) (column, reason string) {
	column = metricOf(o)
	if o.Verdict == results.Oversubscribed || n.Verdict == results.Oversubscribed {
		return throughput, ""
	}
	switch other := metricOf(n); {
	case !results.Publishable(o.Verdict) || !results.Publishable(n.Verdict):
		return column, "" // they may lack figures
	case column != other:
		return column, fmt.Sprintf("not the same figure: %s has %s, %s has %s", names.old, column, names.new, other)
	case o.Loop != n.Loop:
		return column, fmt.Sprintf("not the same loop: %s %s, %s %s", names.old, o.Loop, names.new, n.Loop)
	case o.Latency != n.Latency && column == latency:
		return column, fmt.Sprintf("not the same latency: %s %s, %s %s", names.old, o.Latency, names.new, n.Latency)
	}
	return column, ""
}

func metricOf(r *results.Row) string {
	switch {
	case r.TargetRPS == "max" || r.TargetRPS == "":
		return throughput
	case r.SvcP50Us.OK():
		return service
	case r.P50Us.OK():
		return latency
	}
	return throughput
}

// values is the metric of each sample; NaN where a histogram does not show it.
func values(column string, samples []results.Sample) []float64 {
	v := make([]float64, len(samples))
	for i, s := range samples {
		m := s.Measurement
		h := m.Service
		switch column {
		case throughput:
			v[i] = m.Throughput()
			continue
		case latency:
			h = m.Latency
		}
		v[i] = math.NaN()
		if h != nil {
			if ns, ok := h.Quantile(0.5); ok {
				v[i] = float64(ns) / 1e3
			}
		}
	}
	return v
}

// decide draws the outcomes from the intervals and the adjusted p values.
func (r *Result) decide() {
	var p []float64
	for _, c := range r.Cells {
		if c.Tested {
			p = append(p, c.P)
		}
	}
	r.Tests = len(p)
	adjusted, moved := holm(p), r.Moved()
	for i := range r.Cells {
		c := &r.Cells[i]
		c.Outcome = Unsure
		if !c.Tested {
			continue
		}
		c.PHolm, adjusted = adjusted[0], adjusted[1:]
		switch {
		case moved != "":
			c.Reason = moved
		case c.Lo >= 1-r.Margin && c.Hi <= 1+r.Margin:
			c.Outcome = Same
		case c.Lo <= 1 && c.Hi >= 1:
			c.Reason = fmt.Sprintf("the interval holds both 0 %% and more than ±%s", percent(r.Margin))
		case c.PHolm > alpha:
			c.Reason = fmt.Sprintf("p %s, but %s after Holm over %d tests", pText(c.P), pText(c.PHolm), r.Tests)
		case (c.Ratio > 1) == c.Higher:
			c.Outcome = Better
		default:
			c.Outcome = Worse
		}
	}
}

// means are of the cells with a ratio, a mean for each metric.
func (r *Result) means() {
	for _, column := range []string{throughput, service, latency} {
		var sum float64
		n := 0
		for _, c := range r.Cells {
			if c.Tested && c.Metric == column {
				sum += math.Log(c.Ratio)
				n++
			}
		}
		if n > 0 {
			r.Means = append(r.Means, Mean{column, n, math.Exp(sum / float64(n))})
		}
	}
}

// Beyond gives the cells that are worse by more than share (0.05 is 5 %), with the whole of their interval.
func (r *Result) Beyond(share float64) []Cell {
	var list []Cell
	for _, c := range r.Cells {
		if c.Outcome == Worse && (c.Higher && c.Hi < 1-share || !c.Higher && c.Lo > 1+share) {
			list = append(list, c)
		}
	}
	return list
}

// Broken gives the cells that were good in the old run and failed in the new one.
func (r *Result) Broken() []Cell {
	var list []Cell
	for _, c := range r.Cells {
		if results.Publishable(c.oldRow.Verdict) && c.newRow.Verdict == results.Failed {
			list = append(list, c)
		}
	}
	return list
}

// Count is how many cells have an outcome.
func (r *Result) Count(outcome string) int {
	n := 0
	for _, c := range r.Cells {
		if c.Outcome == outcome {
			n++
		}
	}
	return n
}

// ordinary are facts that differ between any two runs.
var ordinary = []string{"date", "seed", "command", "steal before the run", "busy before the run", "clock"}

// differences are the facts that may explain a difference.
func differences(old, new *source.Set) []Difference {
	var list []Difference
	for _, f := range old.Run.Facts {
		if n := new.Fact(f.Key); n != f.Value && !slices.Contains(ordinary, f.Key) {
			list = append(list, Difference{f.Key, f.Value, n})
		}
	}
	for _, f := range new.Run.Facts {
		known := slices.ContainsFunc(old.Run.Facts, func(o results.Fact) bool { return o.Key == f.Key })
		if !known && !slices.Contains(ordinary, f.Key) {
			list = append(list, Difference{f.Key, "", f.Value})
		}
	}
	return list
}
