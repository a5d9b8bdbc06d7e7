package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

func of(values ...int64) *Hist {
	h := New()
	for _, v := range values {
		h.Record(v)
	}
	return h
}

func TestRecord(t *testing.T) {
	for _, c := range []struct {
		name     string
		values   []int64
		min, max int64
		mean     float64
		clamped  int64
	}{
		{"one", []int64{7}, 7, 7, 7, 0},
		{"exact beyond the resolution", []int64{1_000_001, 2_000_003}, 1_000_001, 2_000_003, 1_500_002, 0},
		{"edges", []int64{Lowest, Highest}, Lowest, Highest, float64(Lowest+Highest) / 2, 0},
		{"zero is clamped, but stays the minimum", []int64{0, 10}, 0, 10, 5, 1},
		{"negative", []int64{-5, 5}, -5, 5, 0, 1},
		{"above the range", []int64{1, Highest + 1, 2 * Highest}, 1, 2 * Highest, float64(1+3*Highest+1) / 3, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := of(c.values...)
			lo, ok1 := h.Min()
			hi, ok2 := h.Max()
			mean, ok3 := h.Mean()
			if !ok1 || !ok2 || !ok3 || lo != c.min || hi != c.max || mean != c.mean {
				t.Errorf("min %d max %d mean %v, want %d %d %v", lo, hi, mean, c.min, c.max, c.mean)
			}
			if h.Count() != int64(len(c.values)) || h.Clamped() != c.clamped {
				t.Errorf("count %d clamped %d, want %d %d", h.Count(), h.Clamped(), len(c.values), c.clamped)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	for name, h := range map[string]*Hist{"new": New(), "read": sparse(t, New()), "reset": func() *Hist { h := of(1, 2); h.Reset(); return h }()} {
		_, a := h.Min()
		_, b := h.Max()
		_, c := h.Mean()
		_, d := h.Quantile(0)
		if a || b || c || d || h.Count() != 0 || h.Clamped() != 0 {
			t.Errorf("%s: an empty histogram tells something", name)
		}
		h.Buckets(func(ns, n int64) { t.Errorf("%s: bucket %d × %d", name, ns, n) })
	}
}

// A percentile is told only when at least ten observations lie beyond it.
func TestQuantileNeedsObservationsBeyond(t *testing.T) {
	for _, c := range []struct {
		q     float64
		least int
	}{{0.5, 20}, {0.9, 100}, {0.95, 200}, {0.99, 1000}, {0.999, 10_000}} {
		h := New()
		for i := range c.least {
			if v, ok := h.Quantile(c.q); ok {
				t.Fatalf("q %v of %d values is told: %d", c.q, i, v)
			}
			h.Record(int64(i + 1))
		}
		v, ok := h.Quantile(c.q)
		want := c.q * float64(c.least)
		if !ok || math.Abs(float64(v)-want) > 0.001*want+1 {
			t.Errorf("q %v of 1..%d is %d %v, want about %v", c.q, c.least, v, ok, want)
		}
	}
}

// Against the sorted values themselves: never below the true percentile, at most 0.1 % above.
func TestQuantileOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		values := make([]int64, 5000)
		h := New()
		for i := range values {
			values[i] = int64(math.Exp(r.Float64() * math.Log(float64(Highest))))
			h.Record(values[i])
		}
		slices.Sort(values)
		last := int64(0)
		for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99} {
			got, ok := h.Quantile(q)
			want := values[max(int(q*5000+0.5), 1)-1]
			if !ok || got < want || float64(got) > float64(want)*1.001 {
				t.Errorf("q %v is %d, want %d to 0.1 %% more", q, got, want)
			}
			if got < last {
				t.Errorf("q %v is %d, less than the one before, %d", q, got, last)
			}
			last = got
		}
	}
}

func TestQuantileStaysWithinExtremes(t *testing.T) {
	h := New()
	for range 100 {
		h.Record(1_000_001) // its bucket ends at 1,000,447
	}
	if v, ok := h.Quantile(0.9); !ok || v != 1_000_001 {
		t.Errorf("p90 of equal values is %d %v", v, ok)
	}
}

func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	all, parts := New(), New()
	for i := range 7 {
		part := New()
		for range 300 * i {
			v := r.Int64N(Highest * 11 / 10)
			part.Record(v)
			all.Record(v)
		}
		if i%2 == 0 { // as read from a journal
			part = sparse(t, part)
		}
		parts.Merge(part)
	}
	parts.Merge(nil)
	parts.Merge(New())
	same(t, parts, all)
}

// A histogram as read from JSON answers as the one that was written, and can be added to.
func TestSparse(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 10, 19, 20, 21, 999, 1000, 20_000} {
		h := New()
		for range n {
			h.Record(int64(math.Exp(r.NormFloat64()*2 + 10)))
		}
		read := sparse(t, h)
		if read.h != nil {
			t.Fatal("read as dense: a journal would not fit into memory")
		}
		same(t, read, h)
		read.Record(77)
		h.Record(77)
		same(t, read, h)
		fresh := sparse(t, h)
		fresh.Merge(h)
		h.Merge(sparse(t, h))
		same(t, fresh, h)
		fresh.Reset()
		fresh.Record(5)
		same(t, fresh, of(5))
	}
}

// The geometry that sparse histograms assume is the library's.
func TestGeometry(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	check := func(v int64) {
		h := hdr.New(Lowest, Highest, digits)
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
		if lower(v) != h.Min() || upper(v) != h.Max() {
			t.Errorf("bucket of %d is %d to %d, want %d to %d", v, lower(v), upper(v), h.Min(), h.Max())
		}
		if float64(upper(v)) > float64(v)*1.001 {
			t.Errorf("bucket of %d ends at %d, more than 0.1 %% above", v, upper(v))
		}
	}
	for _, v := range []int64{1, 2, 1023, 1024, 2047, 2048, 2049, 4095, 4096, 4097, 1 << 35, Highest - 1, Highest} {
		check(v)
	}
	for range 100 {
		check(1 + r.Int64N(Highest))
		check(1 + r.Int64N(1<<20))
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h := New()
	v := int64(1)
	if n := testing.AllocsPerRun(1000, func() { h.Record(v); v = v*3%Highest + 1 }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// same compares all that two histograms tell.
func same(t *testing.T, got, want *Hist) {
	t.Helper()
	type told struct {
		count, clamped, min, max int64
		mean                     float64
		q                        [9]int64
		known                    [9]bool
	}
	tell := func(h *Hist) (v told) {
		v.count, v.clamped = h.Count(), h.Clamped()
		v.min, _ = h.Min()
		v.max, _ = h.Max()
		v.mean, _ = h.Mean()
		for i, q := range []float64{0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999} {
			v.q[i], v.known[i] = h.Quantile(q)
		}
		return v
	}
	if g, w := tell(got), tell(want); g != w {
		t.Errorf("got  %+v\nwant %+v", g, w)
	}
	if g, w := buckets(got), buckets(want); !slices.Equal(g, w) {
		t.Errorf("buckets differ: %v and %v", g, w)
	}
}

func buckets(h *Hist) (list []bucket) {
	h.Buckets(func(ns, n int64) { list = append(list, bucket{ns, n}) })
	return list
}

// sparse is h after a trip through JSON.
func sparse(t testing.TB, h *Hist) *Hist {
	t.Helper()
	data, err := h.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var read Hist
	if err := read.UnmarshalJSON(data); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return &read
}

func BenchmarkRecord(b *testing.B) {
	h := New()
	v := int64(1)
	for b.Loop() {
		h.Record(v)
		v = v*3&(1<<30-1) + 1
	}
}
