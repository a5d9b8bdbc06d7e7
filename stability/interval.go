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

// lookLevel is the level of the intervals of a run with a precision, at each of its looks: what the first looks spend is
// missing at the later ones, and whoever looks five times at 95 % is right in 88 % of the cases, if the samples have two
// modes. With this one it is 94 % (docs/precision.md). Six samples have 96.9 % at most.
const lookLevel = 0.99

// lookInterval is Interval for a run with a precision: order statistics as far from both ends as lookLevel allows.
func lookInterval(values []float64) (lo, hi float64, ok bool) {
	n := len(values)
	if n < 5 || slices.ContainsFunc(values, math.IsNaN) {
		return 0, 0, false
	}
	v := slices.Clone(values)
	slices.Sort(v)
	k := lookRank(n)
	return v[k], v[n-1-k], true
}

// lookRank is how many of n values lie below the interval at lookLevel, and as many above: the median of the population is
// outside where at most as many of n coins show heads, or tails.
func lookRank(n int) int {
	k, coins, outside := 0, math.Pow(0.5, float64(n)), 0.0
	for {
		outside += 2 * coins
		if outside > 1-lookLevel {
			return max(k-1, 0)
		}
		coins *= float64(n-k) / float64(k+1)
		k++
	}
}
