package compare

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"msgbench/report/source"
	"msgbench/report/source/sourcetest"
	"msgbench/results"
)

// sidesOf is a run whose cells are pairs, one after the other.
func sidesOf(t testing.TB, cells ...sourcetest.Cell) source.Set {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := sourcetest.Write(dir, cells...); err != nil {
		t.Fatal(err)
	}
	var pairs [][2]int
	for i := 0; i < len(cells); i += 2 {
		pairs = append(pairs, [2]int{i, i + 1})
	}
	if err := sourcetest.Against(dir, "transport", "uds", "tcp", pairs...); err != nil {
		t.Fatal(err)
	}
	s, err := source.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Path = "run"
	return s
}

func TestPairs(t *testing.T) {
	type cell = sourcetest.Cell
	pp := sourcetest.PingPong
	k10 := []int64{10_000, 10_000, 10_000, 10_000, 10_000, 10_000}
	drift := around(1_000_000, -120, -70, -10, 20, 80, 140)
	scaled := func(v []int64, permille ...int64) []int64 {
		out := make([]int64, len(v))
		for i := range v {
			out[i] = v[i] * (1000 + permille[i%len(permille)]) / 1000
		}
		return out
	}
	for _, tt := range []struct {
		name    string
		a, b    cell
		outcome string
		reason  string
		fails   bool // worse than 5 %
	}{
		{"B is half", pp("uds", 8, 0, steady(1_000_000)...), pp("tcp", 8, 0, steady(500_000)...), Worse, "", true},
		{"B is twice", pp("uds", 8, 0, steady(500_000)...), pp("tcp", 8, 0, steady(1_000_000)...), Better, "", false},
		{"as fast", pp("uds", 8, 0, steady(500_000)...), pp("tcp", 8, 0, steady(501_000)...), Same, "", false},
		{"drift of 30 % that hits both", pp("uds", 8, 0, drift...), pp("tcp", 8, 0, scaled(drift, -81, -79, -80)...), Worse, "", true},
		{"drift of 30 % and no difference", pp("uds", 8, 0, drift...), pp("tcp", 8, 0, scaled(drift, 2, -2)...), Same, "", false},
		{"five pairs", pp("uds", 8, 0, drift[:5]...), pp("tcp", 8, 0, scaled(drift[:5], 101, 99, 100)...), Better, "", false},
		{"four pairs", pp("uds", 8, 0, drift[:4]...), pp("tcp", 8, 0, drift[:4]...), Unsure, "too few pairs for an interval: 4, want at least 5", false},
		{"a round is missing at one side", pp("uds", 8, 0, drift...), pp("tcp", 8, 0, scaled(drift[:5], 101, 99, 100)...), Better, "", false},
		{"noise", pp("uds", 8, 0, around(1_000_000, -90, 80, 0, 50, -50, 10)...), pp("tcp", 8, 0, around(1_000_000, 90, -80, 0, -50, 50, 10)...), Unsure,
			"the interval holds both 0 % and more than ±5 %", false},
		{"a slower service time", pp("uds", 8, 10_000, k10...).Timed(steady(10_000)...), pp("tcp", 8, 10_000, k10...).Timed(steady(13_000)...), Worse, "", true},
		{"no variance", pp("uds", 8, 10_000, k10...).Timed(1000), pp("tcp", 8, 10_000, k10...).Timed(900), Better, "", false},
		{"no variance, no difference", pp("uds", 8, 10_000, k10...).Timed(1000), pp("tcp", 8, 10_000, k10...).Timed(1000), Same, "", false},
		{"A is unstable", pp("uds", 8, 0, 100, 200, 400, 800, 1600), pp("tcp", 8, 0, steady(500)...), Unsure, "A is unstable: core 4.00 > 1.35", false},
		{"B failed", pp("uds", 8, 0, steady(500)...), cell{Cell: pp("tcp", 8, 0).Cell, Failed: "server died"}, Unsure, "B is failed: server died", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Pairs(sidesOf(t, tt.a, tt.b), 0.05)
			if err != nil {
				t.Fatal(err)
			}
			checkFirst(t, r, tt.outcome, tt.reason, tt.fails, tt.name == "B failed")
		})
	}
	// What the pairs tell apart, two runs with such a drift could not.
	if c := compared(t, 0.05, []cell{pp("uds", 8, 0, drift...)}, []cell{pp("uds", 8, 0, scaled(drift, -81, -79, -80)...)}).Cells[0]; c.Outcome != Unsure {
		t.Errorf("as two runs: %s, want unsure", c.Outcome)
	}
	if _, err := Pairs(load(t, pp("uds", 8, 0, drift...)), 0.05); err == nil ||
		err.Error() != "run: no run with --ab or --baseline-binary: want two, OLD and NEW" {
		t.Errorf("a run without sides: %v", err)
	}
}

// Two sides that are the same must not be called better or worse more often than the level of the test allows, whatever the
// noise: normal, with a heavy tail, or skewed.
func TestPairsOfTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	noises := map[string]func() float64{
		"normal":      func() float64 { return 0.1 * rng.NormFloat64() },
		"heavy tail":  func() float64 { return 0.02 * math.Tan(math.Pi*(rng.Float64()-0.5)) },
		"exponential": func() float64 { return 0.1 * rng.ExpFloat64() },
	}
	for name, noise := range noises {
		for _, n := range []int{5, 6, 9, 20} {
			const runs = 3000
			found := 0
			for range runs {
				logs := make([]float64, n)
				for i := range logs {
					logs[i] = noise() - noise() // both sides have it
				}
				c := Cell{NOld: n}
				if !c.fromRatios(logs) {
					t.Fatal("no interval")
				}
				r := Result{Cells: []Cell{c}}
				r.decide()
				if o := r.Cells[0].Outcome; o == Better || o == Worse {
					found++
				}
			}
			if share := float64(found) / runs; share > 0.055 {
				t.Errorf("%s, %d pairs: %.1f %% better or worse, want 5 %% or less", name, n, share*100)
			}
		}
	}
}

func TestPairedP(t *testing.T) {
	// Four degrees of freedom have a closed form, of both tails: 1 − s(1 + c²/2), s = t/√(4 + t²), c² = 4/(4 + t²).
	logs := []float64{0.1, 0.2, 0.15, 0.05, 0.12}
	const mean = 0.124
	var squares float64
	for _, v := range logs {
		squares += (v - mean) * (v - mean)
	}
	tt := mean / math.Sqrt(squares/4/5)
	s, c2 := tt/math.Sqrt(4+tt*tt), 4/(4+tt*tt)
	want := 1 - s*(1+c2/2)
	for _, sign := range []float64{1, -1} {
		v := make([]float64, len(logs))
		for i := range logs {
			v[i] = sign * logs[i]
		}
		if p := pairedP(v); math.Abs(p-want) > 1e-9 {
			t.Errorf("p %.9f, want %.9f", p, want)
		}
	}
}

// sidesFixture has one pair of each kind.
func sidesFixture(t testing.TB) Result {
	pp := sourcetest.PingPong
	k10 := []int64{10_000, 10_000, 10_000, 10_000, 10_000, 10_000}
	s := sidesOf(t,
		pp("uds", 8, 0, steady(1_000_000)...), pp("tcp", 8, 0, steady(800_000)...),
		pp("uds", 64, 0, steady(50_000)...), pp("tcp", 64, 0, steady(60_000)...),
		pp("uds", 512, 0, steady(80_000)...), pp("tcp", 512, 0, steady(80_100)...),
		pp("uds", 4096, 0, 100, 200, 400, 800, 1600), pp("tcp", 4096, 0, steady(100)...),
		pp("uds", 8, 10_000, k10...).Timed(steady(2_000)...), pp("tcp", 8, 10_000, k10...).Timed(steady(2_500)...),
	)
	r, err := Pairs(s, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGoldensOfPairs(t *testing.T) {
	goldens(t, "pairs", sidesFixture(t))
	r := sidesFixture(t)
	r.Sides = &results.AB{Setting: results.Build, A: results.BaselinePeer, B: "this", Baseline: &results.Baseline{
		Path: "/opt/old|<b>", SHA256: "0123456789abcdef0123", This: "fedcba9876543210fedc", Versions: map[string]string{"msgbench": "v1.0.0"}}}
	r.Old, r.New = sideNames(r.Sides)
	goldens(t, "builds", r)
}
