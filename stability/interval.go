package stability

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence is the level that intervals aim at. The level of Interval is the one reached.
const Confidence = 0.95

// Interval is the interval of the median of the population that values (one a sample) were drawn from, by order
// statistics, so without an assumption on their distribution (rule 9). For five values it is their min and max at a level
// of 0.9375 (1 − 2/2⁵), from six on benchmath's at 0.95 or the next level above it that order statistics offer. Below
// five, or with a value that is no number, ok is false.
func Interval(values []float64) (lo, hi, level float64, ok bool) {
	if len(values) < 5 || slices.ContainsFunc(values, math.IsNaN) {
		return 0, 0, 0, false
	}
	v := slices.Clone(values) // NewSample sorts in place
	if len(v) == 5 {
		return slices.Min(v), slices.Max(v), 0.9375, true
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(v, &benchmath.DefaultThresholds), Confidence)
	return s.Lo, s.Hi, s.Confidence, true
}

// Level is the level of the interval of n values, for the tables that print it; false where there is none.
func Level(n int) (level float64, ok bool) {
	_, _, level, ok = Interval(make([]float64, max(n, 0)))
	return level, ok
}
