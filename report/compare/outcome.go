package compare

import (
	"fmt"
	"math"

	"msgbench/results"
)

// The outcomes, in the order in which people want to see them.
const (
	Worse  = "worse"
	Better = "better"
	Unsure = "unsure" // with a reason
	Same   = "same"   // the whole interval is within the margin
)

// alpha is the level of the tests.
const alpha = 0.05

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
	for _, column := range []string{throughput, delivered, service, latency} {
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

// Broken gives the cells that were good in the old run, and failed or were skipped in the new one.
func (r *Result) Broken() []Cell {
	var list []Cell
	for _, c := range r.Cells {
		if results.Publishable(c.oldRow.Verdict) && (c.newRow.Verdict == results.Failed || c.newRow.Verdict == results.Skipped) {
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
