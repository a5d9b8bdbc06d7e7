package stability

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"msgbench/results"
)

// minDrift is how many samples a trend takes.
const minDrift = 4

// drift is how much the values (one a sample, measured in rounds) change from the first round to the last, in per cent of
// their median; NaN for fewer than minDrift samples or a median of 0. The slope is Theil's and Sen's (the median of the
// slopes of all pairs), so that one outlier does not look like a trend.
func drift(rounds []int, values []float64) float64 {
	if len(values) < minDrift {
		return math.NaN()
	}
	var slopes []float64
	first, last := rounds[0], rounds[0]
	for i := range values {
		first, last = min(first, rounds[i]), max(last, rounds[i])
		for j := range i {
			if dx := rounds[i] - rounds[j]; dx != 0 {
				slopes = append(slopes, (values[i]-values[j])/float64(dx))
			}
		}
	}
	m := median(values)
	if m == 0 {
		return math.NaN()
	}
	return 100 * median(slopes) * float64(last-first) / m
}

// driftLevel is the share of false marks: of the cells that are marked as drifting, as many, in the mean over many runs, do not
// (the false discovery rate, by the procedure of Benjamini and Hochberg over the cells of a run).
const driftLevel = 0.05

// exactTrend is up to how many values the distribution of Kendall's statistic is counted, not approximated.
const exactTrend = 60

// falling()[n][k] is the share of all orders of n values that have k pairs that fall: a further value falls below 0 to n−1 of
// those before it. It is counted once for all cells.
var falling = sync.OnceValue(func() [exactTrend + 1][]float64 {
	var shares [exactTrend + 1][]float64
	shares[1] = []float64{1}
	for m := 2; m <= exactTrend; m++ {
		shares[m] = make([]float64, m*(m-1)/2+1)
		for k, v := range shares[m-1] {
			for more := range m {
				shares[m][k+more] += v / float64(m)
			}
		}
	}
	return shares
})

// trend is the test of Mann and Kendall for values in the order of their rounds: how many pairs rise, less those that fall, and
// the probability of a surplus as large, either way, in values that do not depend on time. Equal values count for neither,
// which makes it more cautious. p is 1 for fewer than minDrift values.
func trend(values []float64) (surplus int, p float64) {
	n := len(values)
	if n < minDrift {
		return 0, 1
	}
	for i := range values {
		for j := range i {
			switch d := values[i] - values[j]; {
			case math.IsNaN(d):
				return 0, 1
			case d > 0:
				surplus++
			case d < 0:
				surplus--
			}
		}
	}
	pairs := n * (n - 1) / 2
	size := max(surplus, -surplus)
	if n > exactTrend {
		deviation := math.Sqrt(float64(n) * float64(n-1) * float64(2*n+5) / 18)
		return surplus, min(math.Erfc(max(float64(size)-1, 0)/deviation/math.Sqrt2), 1)
	}
	for k, v := range falling()[n] {
		if rest := pairs - 2*k; rest >= size || -rest >= size {
			p += v
		}
	}
	return surplus, min(p, 1)
}

// markDrift finds the cells whose metric changes over the rounds by more than noise would: falling or rising.
func markDrift(list []judged) {
	type tested struct {
		cell, surplus int
		p             float64
	}
	var tests []tested
	for i, j := range list {
		if len(j.metric) >= minDrift && j.verdict != results.Failed && j.verdict != results.Skipped {
			s, p := trend(j.metric)
			tests = append(tests, tested{i, s, p})
		}
	}
	slices.SortStableFunc(tests, func(a, b tested) int { return cmp.Compare(a.p, b.p) })
	marked := 0
	for i, t := range tests {
		if t.p <= driftLevel*float64(i+1)/float64(len(tests))*(1+slack) {
			marked = i + 1
		}
	}
	for _, t := range tests[:marked] {
		j := &list[t.cell]
		j.trend, j.trendP = results.Rising, t.p
		if t.surplus < 0 {
			j.trend = results.Falling
		}
	}
}
