package compare

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"msgbench/stability"
)

// ratioInterval is the ratio of new to old, from two samples that are not paired: the median of the ratios of all pairs,
// and the interval of it by order statistics of those ratios (Hodges and Lehmann; its bounds are those values that the
// Mann-Whitney test would not reject), so without an assumption on the distribution. ok is false where the samples are too
// few for the level, or a value is not above 0.
func ratioInterval(old, new []float64) (ratio, lo, hi, level float64, ok bool) {
	pairs := make([]float64, 0, len(old)*len(new))
	for _, o := range old {
		for _, n := range new {
			if !(o > 0 && n > 0) {
				return 0, 0, 0, 0, false
			}
			pairs = append(pairs, n/o)
		}
	}
	drop, level := dropped(len(old), len(new))
	if drop < 0 {
		return 0, 0, 0, 0, false
	}
	slices.Sort(pairs)
	m := len(pairs) / 2
	ratio = pairs[m]
	if len(pairs)%2 == 0 {
		ratio = math.Sqrt(pairs[m-1] * pairs[m])
	}
	return ratio, pairs[drop], pairs[len(pairs)-1-drop], level, true
}

// maxExact is the sample size up to which the distribution of the U statistic is counted out.
const maxExact = 20

// dropped is how many of the sorted ratios lie outside the interval at each end, and the level that gives; −1 where even
// the extremes do not reach it.
func dropped(n, m int) (int, float64) {
	const tail = (1 - stability.Confidence) / 2
	if n == 0 || m == 0 {
		return -1, 0
	}
	if n > maxExact || m > maxExact {
		mean, sd := float64(n*m)/2, math.Sqrt(float64(n*m)*float64(n+m+1)/12)
		return max(int(mean-1.959964*sd-0.5), 0), stability.Confidence
	}
	ways := uWays(n, m)
	var all float64
	for _, w := range ways {
		all += w
	}
	drop, below := -1, 0.0
	for u := 0; u < len(ways)/2 && below+ways[u] <= tail*all; u++ {
		below += ways[u]
		drop = u
	}
	return drop, 1 - 2*below/all
}

// uWays is in how many orders of n and m values the U statistic is 0, 1, … n·m: the coefficients of the Gaussian binomial.
func uWays(n, m int) []float64 {
	ways := make([]float64, n*m+1)
	ways[0] = 1
	for i := 1; i <= n; i++ {
		for k := len(ways) - 1; k >= m+i; k-- { // × (1 − q^(m+i))
			ways[k] -= ways[k-m-i]
		}
		for k := i; k < len(ways); k++ { // ÷ (1 − q^i)
			ways[k] += ways[k-i]
		}
	}
	return ways
}

// resolution is how exactly a percentile is known: histograms round by up to 0.1 %.
const resolution = 0.002

// pValue is that of Welch's t-test on the logarithms. Ranks, which the interval rests on, can't do this part: of 5 and 5
// samples none falls below 0.008, which no adjustment for more than six cells would leave significant.
func pValue(old, new []float64) float64 {
	a, b := logs(old), logs(new)
	if slices.Min(a) == slices.Max(a) && slices.Min(b) == slices.Max(b) {
		// Short times are whole nanoseconds, so all samples may agree, and the test has no variance to go by.
		if math.Abs(a[0]-b[0]) > resolution {
			return 0
		}
		return 1
	}
	p := benchmath.AssumeNormal.Compare(benchmath.NewSample(a, &benchmath.DefaultThresholds),
		benchmath.NewSample(b, &benchmath.DefaultThresholds)).P
	if math.IsNaN(p) {
		return 1
	}
	return min(max(p, 0), 1)
}

func logs(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Log(v)
	}
	return out
}

// holm adjusts p values of many tests so that the chance of any false finding stays that of one test.
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(p))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(p[i]*float64(len(p)-rank), 1))
		out[i] = highest
	}
	return out
}
