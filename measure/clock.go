// Package measure holds what may stand on the hot path: the clock, pacing, recording and CPU clocks.
package measure

import "time"

// Resolution measures the clock: the smallest step seen between two readings and the mean cost of one reading, both in
// nanoseconds, over n readings.
func Resolution(n int) (step, cost int64) {
	start := Now()
	last := start
	step = int64(time.Second)
	for range n {
		t := Now()
		if d := t - last; d > 0 && d < step {
			step = d
		}
		last = t
	}
	return step, (last - start) / int64(max(n, 1))
}
