package stability

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"msgbench/results"
)

// permutations calls f with every order of 1 to n.
func permutations(n int, f func([]float64)) {
	v := make([]float64, n)
	var place func(k float64)
	place = func(k float64) {
		if int(k) > n {
			f(v)
			return
		}
		for i := range v {
			if v[i] == 0 {
				v[i] = k
				place(k + 1)
				v[i] = 0
			}
		}
	}
	place(1)
}

// The p of an order is the share of all orders whose surplus is as large.
func TestTrendIsExact(t *testing.T) {
	for _, n := range []int{4, 5, 6, 7} {
		var sizes []int
		permutations(n, func(v []float64) {
			s, _ := trend(v)
			sizes = append(sizes, max(s, -s))
		})
		k := 0
		permutations(n, func(v []float64) {
			s, p := trend(v)
			size, as := max(s, -s), 0
			for _, x := range sizes {
				if x >= size {
					as++
				}
			}
			if want := float64(as) / float64(len(sizes)); k%17 == 0 && math.Abs(p-want) > 1e-12 {
				t.Fatalf("%v: surplus %d, p %v, want %v", v, s, p, want)
			}
			k++
		})
	}
}

func TestTrend(t *testing.T) {
	ramp := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(i)
		}
		return v
	}
	falling := ramp(5)
	slices.Reverse(falling)
	for _, c := range []struct {
		name    string
		values  []float64
		surplus int
		p       float64
	}{
		{"three", ramp(3), 0, 1},
		{"four", ramp(4), 6, 2. / 24},
		{"five", ramp(5), 10, 2. / 120},
		{"falling", falling, -10, 2. / 120},
		{"all equal", []float64{7, 7, 7, 7, 7}, 0, 1},
		{"an equal pair", []float64{1, 2, 2, 3, 4}, 9, 2. / 120}, // 9 can't be had without one: as rare as 10
		{"not known", []float64{1, 2, math.NaN(), 4, 5}, 0, 1},
	} {
		s, p := trend(c.values)
		if s != c.surplus || math.Abs(p-c.p) > 1e-12 {
			t.Errorf("%s: surplus %d, p %v, want %d, %v", c.name, s, p, c.surplus, c.p)
		}
	}
	// The approximation goes on where the counting ends.
	r := rand.New(rand.NewPCG(5, 5))
	for range 20 {
		v := make([]float64, exactTrend)
		for i := range v {
			v[i] = r.NormFloat64() + 0.02*float64(i)
		}
		s, exact := trend(v)
		n := float64(len(v))
		approximate := math.Erfc((math.Abs(float64(s)) - 1) / math.Sqrt(n*(n-1)*(2*n+5)/18) / math.Sqrt2)
		if math.Abs(exact-approximate) > 0.002 {
			t.Errorf("surplus %d: counted %v, approximated %v", s, exact, approximate)
		}
	}
	if _, p := trend(ramp(exactTrend + 1)); p > 1e-12 {
		t.Errorf("a long ramp: p %v", p)
	}
}

// judgedBy are cells with values of their metric, one a round.
func judgedBy(cells ...[]float64) []judged {
	list := make([]judged, len(cells))
	for i, v := range cells {
		list[i].verdict, list[i].metric = results.Stable, v
	}
	return list
}

// Among cells that do not drift a mark is rare: in at most 5 % of the runs is there any. A drift that is as large from round to
// round as the noise is, is found in 13 rounds; in five it takes a third of the cells.
func TestMarksOfDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	series := func(rounds int, slope float64) []float64 {
		v := make([]float64, rounds)
		for i := range v {
			v[i] = 1000 * (1 + 0.02*r.NormFloat64() + slope*float64(i))
		}
		return v
	}
	marks := func(cells [][]float64) (n int) {
		list := judgedBy(cells...)
		markDrift(list)
		for _, j := range list {
			if j.trend != "" {
				n++
			}
		}
		return n
	}
	const runs, cells = 600, 18
	for _, rounds := range []int{5, 13, 28} {
		wrong, found, all := 0, 0, 0
		for range runs {
			var still, moving [][]float64
			for i := range cells {
				still = append(still, series(rounds, 0))
				slope := 0.0
				if i%3 == 0 {
					slope = -0.02
				}
				moving = append(moving, series(rounds, slope))
			}
			if marks(still) > 0 {
				wrong++
			}
			if rounds > 5 {
				found += marks(moving)
				all += cells / 3
			}
		}
		if share := float64(wrong) / runs; share > 0.06 {
			t.Errorf("%d rounds: %.3f of the runs without drift have a mark", rounds, share)
		}
		if rounds > 5 && float64(found) < 0.95*float64(all) {
			t.Errorf("%d rounds: %d of %d drifts found", rounds, found, all)
		}
	}
	ramp, flat := []float64{1, 2, 3, 4, 5}, []float64{3, 1, 4, 2, 5}
	if n := marks([][]float64{ramp, flat, flat}); n != 1 {
		t.Errorf("one of three: %d marks, want 1", n)
	}
	if n := marks([][]float64{ramp, flat, flat, flat}); n != 0 {
		t.Errorf("one of four: %d marks, want none: p is 1 in 60", n)
	}
	if n := marks([][]float64{ramp, ramp, flat, flat, flat, flat}); n != 2 {
		t.Errorf("two of six: %d marks, want both", n)
	}
	gone := judgedBy(ramp)
	gone[0].verdict = results.Failed
	if markDrift(gone); gone[0].trend != "" {
		t.Error("a failed cell is marked")
	}
}

func TestDriftInRowsAndNotes(t *testing.T) {
	run := runOf(atMax, at100)
	samples := [][]results.Sample{tens(atMax, 1000, 990, 980, 970, 960), timed(at100, 10_000, 10_100, 10_200, 10_300, 10_400)}
	rows := rowsOf(t, run, samples...)
	if rows[0].Trend != results.Falling || rows[1].Trend != results.Rising {
		t.Errorf("trends %q and %q", rows[0].Trend, rows[1].Trend)
	}
	near(t, "drift_pct", rows[0].DriftPct, -4.0816)
	notes, err := notesFrom(run, flatten(samples))
	if err != nil || len(notes) != 2 {
		t.Fatalf("%v %v", notes, err)
	}
	for i, want := range []string{
		"throughput falls by 4.09 % from round 0 to round 4 (p 0.017; of the cells marked so, about 1 in 20 does not drift): 1k/s, 990/s, 980/s, 970/s, 960/s",
		"p50 rises by 3.93 % from round 0 to round 4 (p 0.017; of the cells marked so, about 1 in 20 does not drift): 10 µs, 10.1 µs, 10.2 µs, 10.3 µs, 10.4 µs",
	} {
		if notes[i].Kind != NoteDrift || !strings.HasPrefix(notes[i].Text, want[:60]) {
			t.Errorf("%s: %s\nwant %s", notes[i].Kind, notes[i].Text, want)
		}
	}
}
