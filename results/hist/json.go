package hist

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
)

// wire is the JSON of a histogram, in the journal and in the worker protocol.
type wire struct {
	Min     int64      `json:"min"`
	Max     int64      `json:"max"`
	Sum     int64      `json:"sum"`
	Clamped int64      `json:"clamped,omitempty"`
	Values  [][2]int64 `json:"values"`
}

// MarshalJSON writes {"min","max","sum","clamped","values":[[ns,count],…]}, values ascending; null when empty.
func (h *Hist) MarshalJSON() ([]byte, error) {
	if h.Count() == 0 {
		return []byte("null"), nil
	}
	w := wire{Min: h.min, Max: h.max, Sum: h.sum, Clamped: h.clamped, Values: [][2]int64{}}
	h.Buckets(func(ns, n int64) { w.Values = append(w.Values, [2]int64{ns, n}) })
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses values that do not ascend, counts below 1, and extremes or a sum
// that contradict them: a histogram from a broken peer must not become a row.
func (h *Hist) UnmarshalJSON(data []byte) error {
	var n Hist
	if err := n.Read(data); err != nil {
		return err
	}
	*h = n
	return nil
}

// scratch holds the values of histograms while they are checked.
var scratch = sync.Pool{New: func() any { return new([][2]int64) }}

// Read is UnmarshalJSON into the memory of a histogram that nobody needs any more. After an error it is of no use.
func (h *Hist) Read(data []byte) error {
	values := scratch.Get().(*[][2]int64)
	defer scratch.Put(values)
	w, ok := scan(data, *values)
	if ok {
		*values = w.Values
	} else {
		w = wire{}
		if err := json.Unmarshal(data, &w); err != nil {
			return fmt.Errorf("histogram: %w", err)
		}
	}
	n := Hist{min: math.MaxInt64, max: math.MinInt64}
	if len(w.Values) == 0 {
		if w.Min != 0 || w.Max != 0 || w.Sum != 0 || w.Clamped != 0 {
			return fmt.Errorf("histogram: min %d, max %d and sum %d without values", w.Min, w.Max, w.Sum)
		}
	} else {
		n = Hist{sparse: slices.Grow(h.sparse[:0], len(w.Values)), min: w.Min, max: w.Max, sum: w.Sum, clamped: w.Clamped}
	}
	last := int64(0)
	for _, v := range w.Values {
		ns, count := v[0], v[1]
		if ns <= last || ns > Highest {
			return fmt.Errorf("histogram: value %d after %d: want ascending values from 1 to %d ns", ns, last, Highest)
		}
		if count < 1 || count > maxCount-n.count {
			return fmt.Errorf("histogram: count %d at %d ns: want at least 1, and at most %d in all", count, ns, maxCount)
		}
		last = ns
		n.count += count
		// A peer may choose any value of a bucket, or finer buckets than ours.
		if i := len(n.sparse) - 1; i >= 0 && n.sparse[i].ns == lower(ns) {
			n.sparse[i].count += count
		} else {
			n.sparse = append(n.sparse, bucket{lower(ns), count})
		}
	}
	if n.count > 0 {
		if err := n.check(); err != nil {
			return fmt.Errorf("histogram: %w", err)
		}
	}
	*h = n
	return nil
}

// Limits far above what a window holds, and so low that the histograms of a cell do not overflow when merged.
const (
	maxCount = 1 << 50
	maxSum   = 1 << 59 // ns: 18 years
)

// check compares the exact extremes and sum with the buckets. What was clamped is counted at the edge of the range.
func (h *Hist) check() error {
	const slack = 0.002 // a bucket is 0.1 % wide, and a peer may round by 0.1 %
	near := func(a, b int64) bool { return math.Abs(float64(a-b)) <= slack*float64(b)+1 }
	inRange := func(v int64) int64 { return min(max(v, Lowest), Highest) }
	lowest, highest := h.sparse[0].ns, upper(h.sparse[len(h.sparse)-1].ns)
	n, lo, hi, sum := float64(h.count), float64(h.min), float64(h.max), float64(h.sum)
	var inBuckets float64
	for _, b := range h.sparse {
		inBuckets += float64(b.ns) * float64(b.count)
	}
	switch {
	case h.min > h.max:
		return fmt.Errorf("min %d above max %d", h.min, h.max)
	case h.clamped < 0 || h.clamped > h.count:
		return fmt.Errorf("clamped %d of %d", h.clamped, h.count)
	case h.clamped == 0 && (h.min < Lowest || h.max > Highest):
		return fmt.Errorf("min %d and max %d, but nothing clamped to %d to %d", h.min, h.max, Lowest, Highest)
	case !near(inRange(h.min), lowest):
		return fmt.Errorf("min %d, but the lowest value is %d", h.min, lowest)
	case !near(inRange(h.max), highest):
		return fmt.Errorf("max %d, but the highest value is %d", h.max, highest)
	case h.sum > maxSum || h.sum < -maxSum:
		return fmt.Errorf("sum %d ns: want at most %d", h.sum, int64(maxSum))
	case sum < lo*n-math.Abs(lo)*n*slack-1 || sum > hi*n+math.Abs(hi)*n*slack+1:
		return fmt.Errorf("sum %d is not possible for %d values from %d to %d", h.sum, h.count, h.min, h.max)
	case h.clamped == 0 && math.Abs(sum-inBuckets) > inBuckets*slack+n:
		return fmt.Errorf("sum %d, but the values add up to about %.0f", h.sum, inBuckets)
	}
	return nil
}
