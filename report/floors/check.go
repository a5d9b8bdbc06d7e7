package floors

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"msgbench/report/internal/plain"
	"msgbench/report/source"
	"msgbench/results"
	"msgbench/stability"
)

// The outcomes of a floor, the worst first. A floor of several cells has the worst of theirs.
const (
	Fail         = "fail"         // the whole interval is beyond the floor
	Missing      = "missing"      // there is no figure: failed, skipped, or not measured
	Inconclusive = "inconclusive" // the interval holds the floor, or the figure is not to be relied on
	Pass         = "pass"         // the whole interval keeps the floor
)

var outcomes = []string{Fail, Missing, Inconclusive, Pass}

// Report is a run held against floors.
type Report struct {
	Path   string // of the run
	File   string // of the floors
	Rerun  string // path of the run that confirmed it; empty if none did
	Floors []Result
}

// Result is what became of one floor.
type Result struct {
	Floor
	Outcome string
	Cells   []CellResult
}

// CellResult is what became of one floor in one cell. Value is the figure, or the ratio of a relative floor; it and its
// interval are there as Has and HasInterval say.
type CellResult struct {
	Cell, Other string // keys; Other only of a relative floor
	Outcome     string
	Reason      string // why it is missing or inconclusive
	Has         bool
	Value       float64
	HasInterval bool
	Lo, Hi      float64
	First       *CellResult // what was seen before a rerun; nil without one
}

// Columns are those that a set must have been loaded with, to be held against these floors.
func Columns(list []Floor) []string {
	var columns []string
	for _, f := range list {
		if !slices.Contains(columns, f.Metric) {
			columns = append(columns, f.Metric)
		}
	}
	return columns
}

// Check holds a run against the floors of a file. Its errors are those of the file: a floor that matches no cell, two that
// contradict, a field that no key has.
func Check(set source.Set, file string, list []Floor) (Report, error) {
	if err := set.Unique(); err != nil {
		return Report{}, err
	}
	all, err := bind(file, &set, list)
	if err != nil {
		return Report{}, err
	}
	c := checker{&set}
	r := Report{Path: set.Path, File: file}
	for _, b := range all {
		res := Result{Floor: b.Floor, Outcome: Pass}
		for _, t := range b.targets {
			res.add(c.cell(b.Floor, t))
		}
		r.Floors = append(r.Floors, res)
	}
	return r, nil
}

// Count is how many floors have an outcome.
func (r Report) Count(outcome string) int {
	n := 0
	for _, f := range r.Floors {
		if f.Outcome == outcome {
			n++
		}
	}
	return n
}

// checker looks at the cells of a set.
type checker struct{ set *source.Set }

func (c *checker) cell(f Floor, t target) CellResult {
	r := CellResult{Cell: t.cell.Row.Cell}
	cells := []*source.Cell{t.cell}
	if len(f.Relative) > 0 {
		if t.other == nil {
			r.Outcome, r.Reason = Missing, t.noOther
			return r
		}
		r.Other = t.other.Row.Cell
		cells = append(cells, t.other)
	}
	for _, x := range cells {
		if r.Outcome, r.Reason = unusable(&x.Row, f.Metric); r.Outcome != "" {
			if t.other != nil {
				r.Reason = x.Row.Cell + ": " + r.Reason
			}
			return r
		}
	}
	var why string
	if t.other == nil {
		why = c.absolute(&r, f, t.cell)
	} else {
		why = c.relative(&r, f, t)
	}
	if why != "" {
		r.Outcome, r.Reason = Inconclusive, why
		return r
	}
	r.judge(f)
	return r
}

// unusable is the outcome of a row that no floor may use.
func unusable(r *results.Row, metric string) (outcome, reason string) {
	text := r.Verdict
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	n, _ := r.Number(metric)
	switch {
	case r.Verdict == results.Failed || r.Verdict == results.Skipped:
		return Missing, text
	case !results.Publishable(r.Verdict):
		return Inconclusive, text
	case !n.OK():
		return Missing, "not measured: " + metric
	}
	return "", ""
}

// absolute fills the figure and its interval, or says why there is none.
func (c *checker) absolute(r *CellResult, f Floor, cell *source.Cell) string {
	n, _ := cell.Row.Number(f.Metric)
	r.Value, r.Has = n.Value()
	if counted(f.Metric) {
		r.Lo, r.Hi, r.HasInterval = r.Value, r.Value, true
		return ""
	}
	base := strings.TrimSuffix(f.Metric, "_us")
	lo, _ := cell.Row.Number(base + "_lo")
	hi, _ := cell.Row.Number(base + "_hi")
	if lo.OK() && hi.OK() {
		r.Lo, r.Hi, r.HasInterval = lo.Or(0), hi.Or(0), true
		return ""
	}
	if cell.NoSamples != "" {
		return fmt.Sprintf("no interval of %s: %s", f.Metric, cell.NoSamples)
	}
	var values []float64
	for _, v := range c.set.Values(cell, f.Metric) {
		if !v.OK() {
			return fmt.Sprintf("no interval: a sample is too short for %s", f.Metric)
		}
		values = append(values, v.Or(0))
	}
	return r.interval(values)
}

// relative fills the ratio of two cells, round by round, so that what slows down both does not count.
func (c *checker) relative(r *CellResult, f Floor, t target) string {
	if counted(f.Metric) {
		return f.Metric + " is a count: it has no ratio round by round"
	}
	for _, x := range []*source.Cell{t.cell, t.other} {
		if x.NoSamples != "" {
			return "no ratio round by round: " + x.NoSamples
		}
	}
	others := map[int]float64{}
	for i, v := range c.set.Values(t.other, f.Metric) {
		if v.OK() {
			others[t.other.Samples[i].Round] = v.Or(0)
		}
	}
	var ratios []float64
	for i, v := range c.set.Values(t.cell, f.Metric) {
		other, same := others[t.cell.Samples[i].Round]
		if v.OK() && same && other > 0 {
			ratios = append(ratios, v.Or(0)/other)
		}
	}
	if len(ratios) == 0 {
		return "the two cells have no round in common: one of them was measured again"
	}
	r.Value, r.Has = middle(ratios), true
	return r.interval(ratios)
}

func (r *CellResult) interval(values []float64) string {
	r.Lo, r.Hi, _, r.HasInterval = stability.Interval(values)
	if !r.HasInterval {
		return fmt.Sprintf("too few samples for an interval: %d, want 5", len(values))
	}
	return ""
}

// judge draws the outcome from the interval.
func (r *CellResult) judge(f Floor) {
	switch {
	case f.Min != nil && r.Hi < *f.Min, f.Max != nil && r.Lo > *f.Max:
		r.Outcome = Fail
	case (f.Min == nil || r.Lo >= *f.Min) && (f.Max == nil || r.Hi <= *f.Max):
		r.Outcome = Pass
	default:
		r.Outcome, r.Reason = Inconclusive, "the interval holds the floor"
	}
}

// counted tells whether a column is exact: counts and extremes as they were seen, not estimates with an interval.
func counted(metric string) bool {
	switch metric {
	case "payload_bytes", "min_us", "max_us", "sent", "received", "lost", "duplicated", "reordered", "samples", "core_samples",
		"core_ratio", "raw_ratio", "drift_pct", "disturbed", "disturbed_kept", "hops":
		return true
	}
	return strings.HasSuffix(metric, "_lo") || strings.HasSuffix(metric, "_hi")
}

func middle(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	m := len(v) / 2
	if len(v)%2 == 1 {
		return v[m]
	}
	return v[m-1] + (v[m]-v[m-1])/2
}

// Condition is the floor in words: throughput ≥ 1000000/s.
func (f Floor) Condition() string {
	what := f.Metric
	u := unit(f)
	if len(f.Relative) > 0 {
		var parts []string
		for _, r := range f.Relative {
			parts = append(parts, r.Name+" "+r.Values[0])
		}
		what += " relative to " + strings.Join(parts, ", ")
	}
	var limits []string
	if f.Min != nil {
		limits = append(limits, "≥ "+decimal(*f.Min)+u)
	}
	if f.Max != nil {
		limits = append(limits, "≤ "+decimal(*f.Max)+u)
	}
	return what + " " + strings.Join(limits, " and ")
}

// unit is that of the figures of a floor, with the space before it.
func unit(f Floor) string {
	if len(f.Relative) > 0 {
		return " ×"
	}
	u := plain.Unit(f.Metric)
	if u == "" || strings.HasPrefix(u, "/") {
		return u
	}
	return " " + u
}

// severity is how far beyond its floor a figure is, as a ratio, to find the worst.
func (r Result) severity() float64 {
	worst := 0.0
	for _, c := range r.Cells {
		if c.Outcome != Fail || !c.Has {
			continue
		}
		if r.Min != nil && c.Value < *r.Min {
			worst = max(worst, math.Abs(*r.Min)/max(math.Abs(c.Value), 1e-9))
		}
		if r.Max != nil && c.Value > *r.Max {
			worst = max(worst, math.Abs(c.Value)/max(math.Abs(*r.Max), 1e-9))
		}
	}
	return worst
}
