package stability

import (
	"math"
	"testing"

	"msgbench/results"
)

func TestDropped(t *testing.T) {
	for _, c := range []struct {
		n    int
		trim float64
		want int
	}{
		{0, 0.2, 0}, {1, 0.2, 0}, {3, 0.2, 0}, {4, 0.2, 0}, {5, 0.2, 1}, {6, 0.2, 1}, {9, 0.2, 1}, {10, 0.2, 2}, {14, 0.2, 2}, {15, 0.2, 3},
		{100, 0.29, 29}, // 28.999999999999996 in binary
		{10, 0.1, 1}, {30, 0.1, 3}, {70, 0.1, 7}, {5, 0, 0}, {5, -1, 0}, {5, 0.5, 2}, {5, 1, 5}, {5, 1e300, 5}, {5, math.NaN(), 0}, {5, math.Inf(1), 0},
	} {
		if got := dropped(c.n, c.trim); got != c.want {
			t.Errorf("floor(%d × %v) is %d, want %d", c.n, c.trim, got, c.want)
		}
	}
	for n := range 2000 {
		if got := dropped(n, 0.2); got != n/5 {
			t.Errorf("floor(%d/5) is %d", n, got)
		}
	}
}

func TestCore(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		n      int
		ratio  float64
		holds  bool
	}{
		{"none", nil, 0, 0, false},
		{"one", []float64{5}, 1, 1, false},
		{"two equal", []float64{5, 5}, 2, 1, false},
		{"three equal", []float64{5, 5, 5}, 3, 1, true},
		{"three, one outlier: nothing is dropped", []float64{10, 10, 20}, 3, 2, false},
		{"four, one outlier", []float64{10, 10, 10, 20}, 4, 2, false},
		{"five, one high", []float64{10, 11, 12, 13, 90}, 3, 13.0 / 11, true},
		{"five, one low", []float64{1, 11, 12, 13, 13}, 3, 13.0 / 11, true},
		{"five, one a side", []float64{90, 1, 11, 12, 13}, 3, 13.0 / 11, true},
		{"five, two high", []float64{10, 10, 10, 90, 90}, 3, 9, false},
		{"five, two low", []float64{1, 1, 10, 10, 10}, 3, 10, false},
		{"six, one a side", []float64{1, 10, 10, 10, 10, 90}, 4, 1, true},
		{"six, two high", []float64{10, 10, 10, 10, 90, 90}, 4, 9, false},
		{"ten, two a side", []float64{1, 2, 10, 10, 10, 10, 10, 10, 80, 90}, 6, 1, true},
		{"ten, three high", []float64{10, 10, 10, 10, 10, 10, 10, 70, 80, 90}, 6, 7, false},
		{"fifteen, three a side", []float64{1, 2, 3, 10, 10, 10, 10, 10, 10, 10, 10, 10, 70, 80, 90}, 9, 1, true},
		{"fifteen, four low", []float64{1, 2, 3, 4, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10}, 9, 2.5, false},
		{"exactly 1.35", []float64{1, 100, 120, 135, 900}, 3, 1.35, true},
		{"exactly 1.35, of thirds", []float64{1, 100.0 / 3, 40, 45, 900}, 3, 1.35, true},
		{"just above", []float64{1, 100, 120, 135.0001, 900}, 3, 1.350001, false},
		{"just below", []float64{1, 100, 120, 134.9999, 900}, 3, 1.349999, true},
		{"a zero in the core", []float64{0, 0, 10, 10, 10}, 3, math.Inf(1), false},
		{"a zero that is dropped", []float64{0, 10, 10, 10, 10}, 3, 1, true},
		{"all zero", []float64{0, 0, 0, 0, 0}, 3, math.Inf(1), false},
		{"negative", []float64{-1, -1, 10, 10, 10}, 3, math.Inf(1), false},
		{"unknown, though it would be dropped", []float64{math.NaN(), 10, 10, 10, 10}, 3, 1, false},
		{"all unknown", []float64{math.NaN(), math.NaN(), math.NaN()}, 3, math.Inf(1), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := coreOf(c.values, results.DefaultPolicy())
			if got.n != c.n || got.holds != c.holds || got.ratio != c.ratio && !(math.Abs(got.ratio-c.ratio) < 1e-9) {
				t.Errorf("%+v, want n %d, ratio %v, holds %v", got, c.n, c.ratio, c.holds)
			}
		})
	}
}

func TestCoreLeavesValuesAlone(t *testing.T) {
	v := []float64{3, 1, 2}
	coreOf(v, results.DefaultPolicy())
	median(v)
	Interval([]float64{3, 1, 2, 5, 4, 6})
	if v[0] != 3 || v[1] != 1 || v[2] != 2 {
		t.Errorf("sorted in place: %v", v)
	}
}

func TestCoreOfOtherPolicies(t *testing.T) {
	v := []float64{10, 12, 14, 16, 30}
	for _, c := range []struct {
		change func(*results.Policy)
		n      int
		holds  bool
	}{
		{func(p *results.Policy) {}, 3, true},
		{func(p *results.Policy) { p.Trim = 0 }, 5, false},
		{func(p *results.Policy) { p.Trim = 0.4 }, 1, false},
		{func(p *results.Policy) { p.Trim, p.MinCore = 0.4, 1 }, 1, true},
		{func(p *results.Policy) { p.Trim, p.MinCore = 0.5, 0 }, 1, true},
		{func(p *results.Policy) { p.Trim, p.MinCore = 1, 0 }, 0, false},
		{func(p *results.Policy) { p.MinCore = 4 }, 3, false},
		{func(p *results.Policy) { p.CoreRatio = 1.3 }, 3, false},
		{func(p *results.Policy) { p.Trim, p.CoreRatio = 0, 3 }, 5, true},
	} {
		p := results.DefaultPolicy()
		c.change(&p)
		if got := coreOf(v, p); got.n != c.n || got.holds != c.holds {
			t.Errorf("%+v: %+v, want %d %v", p, got, c.n, c.holds)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.v); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.v, got, c.want)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("nothing has a median")
	}
}

func TestDrift(t *testing.T) {
	r := []int{0, 1, 2, 3, 4}
	for _, c := range []struct {
		name   string
		rounds []int
		values []float64
		want   float64
	}{
		{"steady", r, []float64{10, 10, 10, 10, 10}, 0},
		{"rising by 1 a round", r, []float64{98, 99, 100, 101, 102}, 4},
		{"falling", r, []float64{102, 101, 100, 99, 98}, -4},
		{"one outlier is no trend", r, []float64{100, 100, 100, 100, 900}, 0},
		{"rounds with gaps", []int{0, 10, 20, 40}, []float64{100, 110, 120, 140}, 100 * 40.0 / 115},
		{"three", r[:3], []float64{1, 2, 3}, math.NaN()},
		{"one round", []int{3, 3, 3, 3}, []float64{1, 2, 3, 4}, math.NaN()},
		{"zeros", r, []float64{0, 0, 0, 0, 0}, math.NaN()},
	} {
		if got := drift(c.rounds, c.values); math.Abs(got-c.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
