package stability

import "math"

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
