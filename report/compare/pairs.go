package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"

	"msgbench/report/source"
	"msgbench/results"
	"msgbench/stability"
)

var sides = names{"A", "B"}

// Pairs compares the two sides of a run that has sides (results.AB), pair by pair: B against A. In each round the two cells
// of a pair were measured right after each other, so what is compared is the ratio of these two samples, and what slows
// the machine down for a while hits both. margin is as for Compare.
func Pairs(s source.Set, margin float64) (Result, error) {
	if err := s.Unique(); err != nil {
		return Result{}, err
	}
	ab := s.Run.AB
	if ab == nil {
		return Result{}, fmt.Errorf("%s: no run with --ab or --baseline-binary: want two, OLD and NEW", s.Path)
	}
	r := Result{Path: s.Path, Sides: ab, Margin: margin}
	r.Old, r.New = sideNames(ab)
	byKey := s.ByKey()
	for _, p := range ab.Pairs {
		a, b := byKey[p.A], byKey[p.B]
		switch {
		case a != nil && b != nil:
			r.Cells = append(r.Cells, measurePair(a, b))
		case a != nil:
			r.OnlyOld = append(r.OnlyOld, p.A)
		case b != nil:
			r.OnlyNew = append(r.OnlyNew, p.B)
		}
	}
	r.decide()
	r.means()
	return r, nil
}

// sideNames name the sides for people.
func sideNames(ab *results.AB) (a, b string) {
	if ab.Baseline == nil {
		return ab.Setting + "=" + ab.A, ab.Setting + "=" + ab.B
	}
	name := func(sum string, version string) string {
		s := fmt.Sprintf("sha256 %.12s", sum)
		if version != "" {
			s += ", msgbench " + version
		}
		return s
	}
	a = fmt.Sprintf("the baseline %s, %s", ab.Baseline.Path, name(ab.Baseline.SHA256, ab.Baseline.Versions["msgbench"]))
	b = "this build, " + name(ab.Baseline.This, "")
	if ab.Baseline.This == ab.Baseline.SHA256 {
		b += ", the same program"
	}
	return a, b
}

// measurePair is measure for two cells of one run.
func measurePair(a, b *source.Cell) Cell {
	c := pick(a, b, sides)
	c.KeyB = b.Row.Cell
	if c.Reason != "" {
		return c
	}
	atA, atB := byRound(c.Metric, a.Samples), byRound(c.Metric, b.Samples)
	var ratios []float64 // logarithms
	for round, x := range atA {
		y, ok := atB[round]
		if !ok {
			continue
		}
		if !(x > 0 && y > 0) {
			c.Reason = "a sample has too few operations for " + c.Metric
			return c
		}
		ratios = append(ratios, math.Log(y/x))
	}
	if !c.fromRatios(ratios) {
		c.Reason = fmt.Sprintf("too few pairs for an interval: %d, want at least 5", len(ratios))
	}
	return c
}

// fromRatios fills a cell from the logarithms of the ratios, one a round; false where they are too few.
func (c *Cell) fromRatios(logs []float64) bool {
	slices.Sort(logs)
	n := len(logs)
	c.NOld, c.NNew = n, n
	lo, hi, level, ok := stability.Interval(logs)
	if !ok {
		return false
	}
	c.Ratio, c.Lo, c.Hi, c.Level, c.Tested = math.Exp((logs[(n-1)/2]+logs[n/2])/2), math.Exp(lo), math.Exp(hi), level, true
	c.P = pairedP(logs)
	return true
}

// byRound is the metric of each sample by its round.
func byRound(column string, samples []*stability.Figures) map[int]float64 {
	m := map[int]float64{}
	for i, v := range values(column, samples) {
		m[samples[i].Round] = v
	}
	return m
}

// pairedP is that of Student's paired t-test: of the logarithms of the ratios, against 0. Wilcoxon's signed ranks and the
// signs, which the interval rests on, can't do this part: of 5 pairs none falls below 0.0625, of 10 none below 0.002, which
// no adjustment for more than 25 cells would leave significant.
func pairedP(logs []float64) float64 {
	if slices.Min(logs) == slices.Max(logs) { // as in pValue
		if math.Abs(logs[0]) > resolution {
			return 0
		}
		return 1
	}
	t, err := stats.PairedTTest(logs, make([]float64, len(logs)), 0, stats.LocationDiffers)
	if err != nil || math.IsNaN(t.P) {
		return 1
	}
	return min(max(t.P, 0), 1)
}
