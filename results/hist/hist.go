// Package hist is the histogram of all latencies: HDR buckets for percentiles, exact extremes and sum beside them.
package hist

import (
	"encoding/json"
	"fmt"
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The range and resolution of every histogram: 1 ns to 60 s with three digits (values are rounded by at most 0.1 %).
const (
	Lowest  = int64(1)
	Highest = int64(60e9)
	digits  = 3
)

// MinBeyond is how many observations must lie beyond a percentile for it to be told at all.
const MinBeyond = 10

// Hist counts durations in nanoseconds. The zero value is not ready; use New. It is not safe for concurrent use.
type Hist struct {
	h        *hdr.Histogram
	min, max int64
	sum      int64
	clamped  int64
}

// New returns an empty histogram (about 220 KB, all of it allocated now).
func New() *Hist {
	return &Hist{h: hdr.New(Lowest, Highest, digits), min: math.MaxInt64, max: math.MinInt64}
}

// Record counts one duration. Values outside the range are counted at its edge, in Clamped, and exactly in min, max and
// sum; none is lost. It does not allocate.
func (h *Hist) Record(ns int64) {
	h.min = min(h.min, ns)
	h.max = max(h.max, ns)
	h.sum += ns
	if ns < Lowest || ns > Highest {
		h.clamped++
		ns = min(max(ns, Lowest), Highest)
	}
	// RecordValue can fail only outside the range.
	_ = h.h.RecordValue(ns)
}

// Merge adds all that other counted to h.
func (h *Hist) Merge(other *Hist) {
	if other == nil || other.Count() == 0 {
		return
	}
	// Histograms of one geometry drop nothing when merged.
	h.h.Merge(other.h)
	h.min = min(h.min, other.min)
	h.max = max(h.max, other.max)
	h.sum += other.sum
	h.clamped += other.clamped
}

// Reset forgets all that was counted.
func (h *Hist) Reset() {
	h.h.Reset()
	h.min, h.max, h.sum, h.clamped = math.MaxInt64, math.MinInt64, 0, 0
}

// Count is the number of durations counted.
func (h *Hist) Count() int64 { return h.h.TotalCount() }

// Clamped is how many durations were outside the range.
func (h *Hist) Clamped() int64 { return h.clamped }

// Min is the exact smallest duration in ns; false when empty.
func (h *Hist) Min() (int64, bool) { return h.min, h.Count() > 0 }

// Max is the exact largest duration in ns; false when empty.
func (h *Hist) Max() (int64, bool) { return h.max, h.Count() > 0 }

// Mean is the exact mean in ns; false when empty.
func (h *Hist) Mean() (float64, bool) {
	if h.Count() == 0 {
		return 0, false
	}
	return float64(h.sum) / float64(h.Count()), true
}

// Quantile is the duration in ns that a share q (0 to 1) of the observations does not exceed, at most 0.1 % above the
// true one. It is false when fewer than MinBeyond observations lie beyond it: then the data does not show it.
func (h *Hist) Quantile(q float64) (int64, bool) {
	if float64(h.Count())*(1-q) < MinBeyond-1e-6 {
		return 0, false
	}
	v := h.h.ValueAtPercentile(q * 100)
	return min(max(v, h.min), h.max), true
}

// Buckets calls f with each non-empty bucket in ascending order: its lowest value in ns and its count.
func (h *Hist) Buckets(f func(ns, count int64)) {
	for _, b := range h.h.Distribution() {
		if b.Count > 0 {
			f(max(b.From, Lowest), b.Count)
		}
	}
}

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
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	n := New()
	last := int64(0)
	for _, v := range w.Values {
		ns, count := v[0], v[1]
		if ns <= last || ns > Highest {
			return fmt.Errorf("histogram: value %d after %d: want ascending values from 1 to %d ns", ns, last, Highest)
		}
		if count < 1 || count > math.MaxInt64/2-n.Count() {
			return fmt.Errorf("histogram: count %d at %d ns: want at least 1", count, ns)
		}
		last = ns
		if err := n.h.RecordValues(ns, count); err != nil {
			return fmt.Errorf("histogram: value %d: %w", ns, err)
		}
	}
	if len(w.Values) > 0 {
		n.min, n.max, n.sum, n.clamped = w.Min, w.Max, w.Sum, w.Clamped
		if err := n.check(w.Values[0][0], last); err != nil {
			return err
		}
	}
	*h = *n
	return nil
}

// check compares the exact extremes and sum with the lowest and highest value of the buckets.
func (h *Hist) check(lowest, highest int64) error {
	const slack = 1.002 // a bucket is 0.1 % wide
	switch {
	case h.min > h.max:
		return fmt.Errorf("histogram: min %d above max %d", h.min, h.max)
	case h.clamped < 0 || h.clamped > h.Count():
		return fmt.Errorf("histogram: clamped %d of %d", h.clamped, h.Count())
	case h.clamped > 0:
		return nil // extremes and sum lie outside the buckets
	case float64(h.min)*slack+1 < float64(lowest) || float64(lowest)*slack+1 < float64(h.min):
		return fmt.Errorf("histogram: min %d, but the lowest value is %d", h.min, lowest)
	case float64(h.max)*slack+1 < float64(highest) || float64(highest)*slack+1 < float64(h.max):
		return fmt.Errorf("histogram: max %d, but the highest value is %d", h.max, highest)
	case float64(h.sum) < float64(h.min)*float64(h.Count())*0.999 || float64(h.sum) > float64(h.max)*float64(h.Count())*1.001:
		return fmt.Errorf("histogram: sum %d is not possible for %d values from %d to %d", h.sum, h.Count(), h.min, h.max)
	}
	return nil
}
