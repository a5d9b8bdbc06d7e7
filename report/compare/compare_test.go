package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/perf/benchmath"

	"msgbench/report/internal/golden"
	"msgbench/report/source"
	"msgbench/report/source/sourcetest"
)

// Samples around a level, a per cent or so apart.
func around(level int64, permille ...int64) []int64 {
	out := make([]int64, len(permille))
	for i, p := range permille {
		out[i] = level * (1000 + p) / 1000
	}
	return out
}

func steady(level int64) []int64 { return around(level, -4, 3, 0, 5, -2, 1) }

func load(t testing.TB, cells ...sourcetest.Cell) source.Set {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := sourcetest.Write(dir, cells...); err != nil {
		t.Fatal(err)
	}
	s, err := source.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Path = "run"
	return s
}

// checkFirst checks what came of the first cell, which alone may be beyond 5 % or broken.
func checkFirst(t *testing.T, r Result, outcome, reason string, fails, broken bool) {
	t.Helper()
	c := r.Cells[0]
	if c.Outcome != outcome || c.Reason != reason {
		t.Errorf("%s %q, want %s %q (ratio %g, %g to %g, p %g)", c.Outcome, c.Reason, outcome, reason, c.Ratio, c.Lo, c.Hi, c.P)
	}
	if got := len(r.Beyond(0.05)) > 0; got != fails {
		t.Errorf("beyond 5 %%: %v, want %v (%g to %g)", got, fails, c.Lo, c.Hi)
	}
	if got := len(r.Broken()) > 0; got != broken {
		t.Errorf("broken: %v, want %v", got, broken)
	}
}

func compared(t testing.TB, margin float64, old, new []sourcetest.Cell) Result {
	t.Helper()
	r, err := Compare(load(t, old...), load(t, new...), margin)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOutcomes(t *testing.T) {
	type cell = sourcetest.Cell
	pp := sourcetest.PingPong
	k10 := []int64{10_000, 10_000, 10_000, 10_000, 10_000, 10_000}
	for _, tt := range []struct {
		name     string
		old, new cell
		outcome  string
		reason   string
		fails    bool // --fail-on worse:5%
	}{
		{"throughput down a half", pp("shm", 8, 0, steady(1_000_000)...), pp("shm", 8, 0, steady(500_000)...), Worse, "", true},
		{"throughput doubled", pp("shm", 8, 0, steady(500_000)...), pp("shm", 8, 0, steady(1_000_000)...), Better, "", false},
		{"throughput as before", pp("shm", 8, 0, steady(500_000)...), pp("shm", 8, 0, steady(501_000)...), Same, "", false},
		{"down 5 %, the interval holds 5 %", pp("shm", 8, 0, around(1_000_000, -10, 10, 0, 5, -5)...),
			pp("shm", 8, 0, around(945_000, -10, 10, 0, 5, -5)...), Worse, "", false},
		{"noise", pp("shm", 8, 0, around(1_000_000, -100, 100, 0, 50, -50)...), pp("shm", 8, 0, around(960_000, -100, 100, 0, 50, -50)...), Unsure,
			"the interval holds both 0 % and more than ±5 %", false},
		{"a slower service time at a rate", pp("shm", 8, 10_000, k10...).Timed(steady(10_000)...),
			pp("shm", 8, 10_000, k10...).Timed(steady(13_000)...), Worse, "", true},
		{"a faster service time at a rate", pp("shm", 8, 10_000, k10...).Timed(steady(13_000)...),
			pp("shm", 8, 10_000, k10...).Timed(steady(10_000)...), Better, "", false},
		{"no variance at all", pp("shm", 8, 10_000, k10...).Timed(1000), pp("shm", 8, 10_000, k10...).Timed(1200), Worse, "", true},
		{"no variance, no difference", pp("shm", 8, 10_000, k10...).Timed(1000), pp("shm", 8, 10_000, k10...).Timed(1000), Same, "", false},
		{"publishes twice as much, and drops nearly all of it", sourcetest.Flood("zmq-tcp", steady(500_000), steady(500_000)),
			sourcetest.Flood("zmq-tcp", steady(1_000_000), steady(50_000)), Worse, "", true},
		{"three samples", pp("shm", 8, 0, 1000, 1001, 1002), pp("shm", 8, 0, 500, 501, 502), Unsure,
			"too few samples for an interval: 3 and 3, want at least 4 and 4", false},
		{"unstable before", pp("shm", 8, 0, 100, 200, 400, 800, 1600), pp("shm", 8, 0, steady(500)...), Unsure, "old is unstable: core 4.00 > 1.35", false},
		{"unstable now", pp("shm", 8, 0, steady(500)...), pp("shm", 8, 0, 100, 200, 400, 800, 1600), Unsure, "new is unstable: core 4.00 > 1.35", false},
		{"failed now", pp("shm", 8, 0, steady(500)...), cell{Cell: pp("shm", 8, 0).Cell, Failed: "server died"}, Unsure, "new is failed: server died", false},
		{"not measured", pp("shm", 8, 0), pp("shm", 8, 0, steady(500)...), Unsure, "old is skipped: not measured: the run was interrupted", false},
		{"not measured now", pp("shm", 8, 0, steady(500)...), pp("shm", 8, 0), Unsure, "new is skipped: not measured: the run was interrupted", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := compared(t, 0.05, []cell{tt.old}, []cell{tt.new})
			checkFirst(t, r, tt.outcome, tt.reason, tt.fails, tt.name == "failed now" || tt.name == "not measured now")
		})
	}
}

// A rate that is too much now is a change of throughput, not of service time.
func TestOversubscribed(t *testing.T) {
	capacity := sourcetest.PingPong("shm", 8, 0, steady(8_000)...)
	r := compared(t, 0.05,
		[]sourcetest.Cell{capacity, sourcetest.PingPong("shm", 8, 10_000, steady(10_000)...)},
		[]sourcetest.Cell{capacity, sourcetest.PingPong("shm", 8, 10_000, steady(8_000)...)})
	c := r.Cells[1]
	if c.newRow.Verdict != "oversubscribed" || c.Metric != "throughput" || c.Outcome != Worse {
		t.Errorf("%s: %s by %s, want worse by throughput", c.newRow.Verdict, c.Outcome, c.Metric)
	}
}

func TestFalseFindingsAreHeldDown(t *testing.T) {
	// One cell alone has a p below 0.05; among 200 that says nothing.
	old, new := []sourcetest.Cell{}, []sourcetest.Cell{}
	for i := range 200 {
		old = append(old, sourcetest.PingPong("shm", i, 0, around(1_000_000, -60, 20, 0, 30, -20, 50)...))
		new = append(new, sourcetest.PingPong("shm", i, 0, around(1_000_000, -50, 30, 10, 40, -10, 40)...))
	}
	new[0] = sourcetest.PingPong("shm", 0, 0, around(890_000, -60, 20, 0, 30, -20, 50)...)
	r := compared(t, 0.05, old, new)
	c := r.Cells[0]
	if c.P > 0.05 || c.PHolm < 0.05 || c.Outcome != Unsure || !strings.Contains(c.Reason, "after Holm over 200 tests") {
		t.Errorf("p %g, adjusted %g: %s %q", c.P, c.PHolm, c.Outcome, c.Reason)
	}
	if alone := compared(t, 0.05, old[:1], new[:1]).Cells[0]; alone.Outcome != Worse {
		t.Errorf("alone: %s, want worse", alone.Outcome)
	}
}

func TestHolm(t *testing.T) {
	got := holm([]float64{0.01, 0.04, 0.03, 0.005})
	want := []float64{0.03, 0.06, 0.06, 0.02} // R: p.adjust(c(.01,.04,.03,.005), "holm")
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// The bounds are those that the Mann-Whitney test of benchmath draws: shifted just beyond one, the samples differ at
// 0.05, just within they do not.
func TestIntervalInvertsTheRankTest(t *testing.T) {
	old := []float64{101, 99, 107, 95, 103.5, 98.25}
	new := []float64{111, 118.5, 109.25, 125, 114, 121.5, 104}
	_, lo, hi, level, ok := ratioInterval(old, new)
	if !ok || level < 0.95 || level > 0.98 {
		t.Fatalf("%g to %g at %g, %v", lo, hi, level, ok)
	}
	differ := func(ratio float64) bool {
		var scaled []float64
		for _, o := range old {
			scaled = append(scaled, o*ratio)
		}
		return benchmath.AssumeNothing.Compare(benchmath.NewSample(scaled, &benchmath.DefaultThresholds),
			benchmath.NewSample(append([]float64(nil), new...), &benchmath.DefaultThresholds)).P < 0.05
	}
	for _, b := range []struct {
		ratio float64
		want  bool
	}{{lo * 0.9999, true}, {lo * 1.0001, false}, {hi * 0.9999, false}, {hi * 1.0001, true}} {
		if differ(b.ratio) != b.want {
			t.Errorf("ratio %g of %g to %g: differs %v, want %v", b.ratio, lo, hi, !b.want, b.want)
		}
	}
}

func TestUWays(t *testing.T) {
	if got := uWays(5, 5); len(got) != 26 || got[0] != 1 || got[2] != 2 || got[3] != 3 || got[25] != 1 {
		t.Errorf("%v", got)
	}
	var all float64
	for _, w := range uWays(20, 20) {
		all += w
	}
	if all != 137846528820 {
		t.Errorf("%.0f orders of 20 and 20, want 137846528820", all)
	}
	exact, _ := dropped(20, 20)
	near, _ := dropped(21, 20)
	if exact < 120 || near < exact || near > exact+12 {
		t.Errorf("drops %d of 20 and 20, %d of 21 and 20", exact, near)
	}
}

// fixture has one cell of each kind.
func fixture(t testing.TB) Result {
	pp := sourcetest.PingPong
	k10 := []int64{10_000, 10_000, 10_000, 10_000, 10_000, 10_000}
	r := compared(t, 0.05,
		[]sourcetest.Cell{
			pp("shm", 8, 0, steady(1_000_000)...), pp("tcp", 8, 0, steady(50_000)...), pp("uds", 8, 0, steady(80_000)...),
			pp("pipe", 8, 0, 100, 200, 400, 800, 1600), pp("shm", 8, 10_000, k10...).Timed(steady(2_000)...), pp("old|<b>", 8, 0, steady(10)...),
		},
		[]sourcetest.Cell{
			pp("shm", 8, 0, steady(800_000)...), pp("tcp", 8, 0, steady(60_000)...), pp("uds", 8, 0, steady(80_100)...),
			pp("pipe", 8, 0, steady(100)...), pp("shm", 8, 10_000, k10...).Timed(steady(2_500)...), pp("new", 8, 0, steady(10)...),
		})
	r.Differences = []Difference{{"kernel", "6.1", "6.2 | <x>"}}
	return r
}

func TestGoldens(t *testing.T) { goldens(t, "compare", fixture(t)) }

// goldens compares every format of a result with the files of that name.
func goldens(t *testing.T, name string, r Result) {
	t.Helper()
	for _, format := range Formats {
		got, err := Write(r, format)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name+"."+format, got)
		switch format {
		case "json":
			if !json.Valid(got) {
				t.Error("not JSON")
			}
		case "csv":
			if _, err := csv.NewReader(bytes.NewReader(got)).ReadAll(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestCSVWithoutJournalIsUnsure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := sourcetest.Write(dir, sourcetest.PingPong("shm", 8, 0, steady(1000)...)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "results.csv")
	withJournal, err := source.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Compare(withJournal, withJournal, 0.05)
	if err != nil || r.Cells[0].Outcome != Same {
		t.Errorf("with its journal: %v %+v", err, r.Cells)
	}
	if err := os.Remove(filepath.Join(dir, "samples.jsonl")); err != nil {
		t.Fatal(err)
	}
	alone, err := source.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err = Compare(withJournal, alone, 0.05)
	if err != nil || r.Cells[0].Outcome != Unsure || r.Cells[0].Reason != "new: there is no journal beside the CSV" {
		t.Errorf("alone: %v %+v", err, r.Cells)
	}
}
