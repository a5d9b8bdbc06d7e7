// Package hist is the histogram of all latencies: HDR buckets for percentiles, exact extremes and sum beside them.
package hist

import (
	"math"
	"math/bits"

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
//
// A histogram that was read from JSON keeps only its non-empty buckets, since a journal holds thousands of them and each
// would take 220 KB; it becomes dense when something is added to it.
type Hist struct {
	h        *hdr.Histogram // nil while sparse
	sparse   []bucket       // ascending, none empty
	count    int64          // of sparse
	min, max int64
	sum      int64
	clamped  int64
}

// bucket is all values that count as one: its lowest value in ns and how many there are.
type bucket struct{ ns, count int64 }

// New returns an empty histogram (about 220 KB, all of it allocated now).
func New() *Hist {
	return &Hist{h: hdr.New(Lowest, Highest, digits), min: math.MaxInt64, max: math.MinInt64}
}

// Record counts one duration. Values outside the range are counted at its edge, in Clamped, and exactly in min, max and
// sum; none is lost. It does not allocate.
func (h *Hist) Record(ns int64) {
	if h.h == nil {
		h.makeDense()
	}
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
	if h.h == nil {
		h.makeDense()
	}
	// Histograms of one geometry drop nothing when merged.
	if other.h != nil {
		h.h.Merge(other.h)
	} else {
		h.add(other.sparse)
	}
	h.min = min(h.min, other.min)
	h.max = max(h.max, other.max)
	h.sum += other.sum
	h.clamped += other.clamped
}

func (h *Hist) makeDense() {
	h.h = hdr.New(Lowest, Highest, digits)
	h.add(h.sparse)
	h.sparse, h.count = nil, 0
}

func (h *Hist) add(buckets []bucket) {
	for _, b := range buckets {
		_ = h.h.RecordValues(b.ns, b.count) // within the range, as UnmarshalJSON saw to
	}
}

// Reset forgets all that was counted.
func (h *Hist) Reset() {
	if h.h != nil {
		h.h.Reset()
	}
	h.sparse, h.count = nil, 0
	h.min, h.max, h.sum, h.clamped = math.MaxInt64, math.MinInt64, 0, 0
}

// Count is the number of durations counted; 0 for nil.
func (h *Hist) Count() int64 {
	if h == nil {
		return 0
	}
	if h.h == nil {
		return h.count
	}
	return h.h.TotalCount()
}

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
	if q <= 0 {
		return h.min, true
	}
	return min(max(h.at(q), h.min), h.max), true
}

// at is the upper edge of the bucket that holds the observation of rank q × count, rounded to the nearest.
func (h *Hist) at(q float64) int64 {
	if h.h != nil {
		return h.h.ValueAtPercentile(q * 100)
	}
	rank := int64(q*100/100*float64(h.count) + 0.5) // as in ValueAtPercentile
	for _, b := range h.sparse {
		if rank -= b.count; rank <= 0 {
			return upper(b.ns)
		}
	}
	return h.max
}

// A bucket is one value wide below 2048, then 2^k values from 2^(10+k): the geometry of HDR with three digits.

// width is how many values share the bucket of ns.
func width(ns int64) int64 { return 1 << max(bits.Len64(uint64(ns))-11, 0) }

// lower is the lowest value in the bucket of ns, upper the highest.
func lower(ns int64) int64 { return ns &^ (width(ns) - 1) }
func upper(ns int64) int64 { return ns | (width(ns) - 1) }

// Buckets calls f with each non-empty bucket in ascending order: its lowest value in ns and its count.
func (h *Hist) Buckets(f func(ns, count int64)) {
	if h.h == nil {
		for _, b := range h.sparse {
			f(b.ns, b.count)
		}
		return
	}
	for _, b := range h.h.Distribution() {
		if b.Count > 0 {
			f(max(b.From, Lowest), b.Count)
		}
	}
}
