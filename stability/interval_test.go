package stability

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestInterval(t *testing.T) {
	upTo := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(n - i)
		}
		return v
	}
	for _, c := range []struct {
		n      int
		lo, hi float64
		level  float64
	}{
		{5, 1, 5, 0.9375},   // min to max; not 95 %, so the level is printed
		{6, 1, 6, 0.96875},  // 1 − 2/2⁶
		{7, 1, 7, 0.984375}, // 1 − 2/2⁷
		{10, 2, 9, 0.978515625},
		{15, 4, 12, 0.96484375},
	} {
		lo, hi, level, ok := Interval(upTo(c.n))
		if !ok || lo != c.lo || hi != c.hi || math.Abs(level-c.level) > 1e-9 {
			t.Errorf("n %d: %v to %v at %v %v, want %v to %v at %v", c.n, lo, hi, level, ok, c.lo, c.hi, c.level)
		}
		if got, ok := Level(c.n); !ok || got != level {
			t.Errorf("Level(%d) is %v, want %v", c.n, got, level)
		}
	}
	for n := range 5 {
		if _, _, _, ok := Interval(upTo(n)); ok {
			t.Errorf("n %d has an interval", n)
		}
	}
	if _, ok := Level(-1); ok {
		t.Error("Level(-1)")
	}
	if _, _, _, ok := Interval([]float64{1, 2, 3, 4, math.NaN(), 6}); ok {
		t.Error("a value that is not known has an interval")
	}
}

// The level is what it says: so often does the interval hold the median of the population.
func TestIntervalCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	for _, n := range []int{5, 6, 10, 28, 40} {
		const tries = 5_000
		hit, level := 0, 0.0
		for range tries {
			v := make([]float64, n)
			for i := range v {
				v[i] = r.ExpFloat64()
			}
			lo, hi, l, _ := Interval(v)
			level = l
			if lo <= math.Ln2 && math.Ln2 <= hi {
				hit++
			}
		}
		if got := float64(hit) / tries; math.Abs(got-level) > 0.015 {
			t.Errorf("n %d: %.4f of the intervals hold the median, the level is %.4f", n, got, level)
		}
	}
}

// All looks together miss the median in at most 5 % of the cases, by adding up, whatever the population is.
func TestLooksSpendFivePercent(t *testing.T) {
	outside := 0.0
	for i, n := range looks {
		r := lookRank(n)
		if want := []int{0, 0, 1, 3, 6}[i]; r != want {
			t.Errorf("%d values: %d on each side, want %d", n, r, want)
		}
		coins := 2 * math.Pow(0.5, float64(n))
		for k := range r + 1 {
			outside += coins
			coins *= float64(n-k) / float64(k+1)
		}
	}
	if outside > 0.05 || outside < 0.04 {
		t.Errorf("all looks together miss %.4f", outside)
	}
	if _, _, ok := lookInterval([]float64{1, 2, 3, 4}); ok {
		t.Error("an interval of four")
	}
	if lo, hi, ok := lookInterval([]float64{13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}); !ok || lo != 2 || hi != 12 {
		t.Errorf("%v to %v %v, want the second and the second last", lo, hi, ok)
	}
}
