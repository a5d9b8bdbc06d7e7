package stability

import (
	"slices"
	"strings"
	"testing"
	"time"

	"msgbench/results"
)

// steadyAndWild are rounds of two cells at max: one within 1 %, one that needs its many samples.
func steadyAndWild(rounds int) (steady, wild results.Cell, samples []results.Sample) {
	steady, wild = atMax, atMax
	wild.Transport = "uds"
	for i := range rounds {
		s, w := measured(steady, i, 1000+int64(i%3), 10_000), measured(wild, i, 1000+int64(i*37%200), 10_000)
		s.WallNs, w.WallNs = second, second
		samples = append(samples, s, w)
	}
	return steady, wild, samples
}

func precise(p float64, cells ...results.Cell) results.Run {
	run := runOf(cells...)
	run.Policy.Precision = p
	return run
}

// In a run merged from shards the cells of one that was interrupted do not make others unfinished, nor their reruns.
func TestPrecisionOfMergedShards(t *testing.T) {
	steady, wild, samples := steadyAndWild(28)
	samples = slices.DeleteFunc(samples, func(s results.Sample) bool { return s.Cell == steady.Key() && s.Round > 2 })
	again := slices.Clone(samples)
	for _, s := range samples {
		if s.Cell == wild.Key() {
			s.Attempt, s.Round = 1, s.Round+28
			again = append(again, s)
		}
	}
	for _, s := range [][]results.Sample{samples, again} {
		rows, err := rowsFrom(precise(0.03, steady, wild), s)
		if err != nil {
			t.Fatal(err)
		}
		if r := rows[0].Reason; !strings.Contains(r, "when the run was interrupted (3 samples)") {
			t.Errorf("the cell that was interrupted: %s", r)
		}
		if r := rows[1].Reason; !strings.Contains(r, "in 28 rounds, the most it takes (28 samples)") || strings.Contains(r, "interrupted") {
			t.Errorf("the one that was not: %s", r)
		}
	}
}

func TestLooks(t *testing.T) {
	p := results.DefaultPolicy()
	for _, c := range []struct {
		precision float64
		samples   int
		want      []int
	}{{0, 5, []int{5}}, {0, 40, []int{40}}, {0.03, 1, []int{6, 9, 13, 19, 28}}, {0.03, 6, []int{6, 9, 13, 19, 28}},
		{0.03, 7, []int{9, 13, 19, 28}}, {0.03, 28, []int{28}}, {0.03, 29, nil}} {
		p.Precision, p.Samples = c.precision, c.samples
		if got := Looks(p); !slices.Equal(got, c.want) {
			t.Errorf("precision %v from %d: %v, want %v", c.precision, c.samples, got, c.want)
		}
	}
}

func TestWidth(t *testing.T) {
	six := tens(atMax, 970, 980, 1000, 1000, 1010, 1020)
	slow := timed(at100, 10_000, 10_000, 10_000, 10_000, 10_000, 12_000)
	blind := tens(atMax, 1000, 1000, 1000, 1000, 1000, 1000)
	blind[3].Measurement.Latency = counted(map[int64]int64{10_000: 19})
	silent := tens(atMax, 1000, 1000, 1000, 1000, 1000, 1000)
	for i := range silent {
		silent[i].Measurement.Latency = nil
	}
	still := tens(atMax, 0, 0, 0, 0, 0, 0)
	rejected := ended(tens(atMax, 1000, 1000, 1000, 1000, 1000, 1000), 2, results.Rejected, "ramp")
	for _, c := range []struct {
		name      string
		cell      results.Cell
		samples   []results.Sample
		text      string
		in, notIn float64
	}{
		{"the larger distance counts", atMax, six, "throughput ±3 %, p50 ±0 %", 0.03, 0.0299},
		{"p50 of the service time at a fixed rate", at100, slow, "throughput ±0 %, p50 ±20 %", 0.21, 0.19},
		{"a p50 that a sample does not show", atMax, blind, "throughput ±0 %, p50 unknown", 0, 0.5},
		{"no latency", atMax, silent, "throughput ±0 %", 0.001, 0},
		{"nothing delivered", atMax, still, "throughput unknown, p50 ±0 %", 0, 0.5},
		{"five are not enough", atMax, rejected, "throughput ±0 %, p50 ±0 %", 0, 0.5},
	} {
		w, err := WidthOf(journal(append(again(1, timed(c.cell, 1)), c.samples...)).Of(c.cell.Key()), 0)
		if err != nil {
			t.Fatal(err)
		}
		if w.String() != c.text || c.in > 0 && !w.Within(c.in) || c.notIn > 0 && w.Within(c.notIn) {
			t.Errorf("%s: %s (%+v), want %s, within %v and not %v", c.name, w, w, c.text, c.in, c.notIn)
		}
	}
}

// Whoever resumes sees samples beyond a look: they must not change what it says.
func TestGoOnLooksAtWhatWasThere(t *testing.T) {
	steady, wild, samples := steadyAndWild(28)
	run := precise(0.03, steady, wild)
	for look, n := range []int{6, 9, 13, 19} {
		for extra := 2 * n; extra <= len(samples); extra++ {
			keys, err := GoOn(run, journal(samples[:extra]), 0, look)
			if want := []string{wild.Key()}; err != nil || !slices.Equal(keys, want) {
				t.Fatalf("look %d with %d samples: %v %v, want %v", look, extra, keys, err, want)
			}
		}
		if keys, _ := GoOn(run, journal(samples[:2*n-1]), 0, look); keys != nil {
			t.Errorf("look %d: %v, but a cell is not there yet", look, keys)
		}
	}
	if keys, err := GoOn(run, journal(samples), 0, 4); keys != nil || err != nil {
		t.Errorf("after the last look: %v %v", keys, err)
	}
	failed := ended(slices.Clone(samples[:12]), 5, results.Failed, "died")
	if keys, err := GoOn(run, journal(failed), 0, 0); keys != nil || err != nil {
		t.Errorf("a failed cell goes on: %v %v", keys, err)
	}
	run.Policy.Precision = 0
	if keys, err := GoOn(run, journal(samples), 0, 0); keys != nil || err != nil {
		t.Errorf("without a precision: %v %v", keys, err)
	}
}

// A rerun has rounds of its own, wherever they begin; its looks don't see the first attempt.
func TestGoOnInARerun(t *testing.T) {
	steady, wild, first := steadyAndWild(9)
	_, _, second := steadyAndWild(7)
	run := precise(0.03, steady, wild)
	samples := slices.Concat(first, again(1, second))
	if keys, err := GoOn(run, journal(samples), 1, 0); err != nil || !slices.Equal(keys, []string{wild.Key()}) {
		t.Errorf("%v %v", keys, err)
	}
	if keys, err := GoOn(run, journal(samples), 1, 1); err != nil || keys != nil {
		t.Errorf("%v %v", keys, err)
	}
}

func TestMaxTime(t *testing.T) {
	steady, wild, samples := steadyAndWild(9) // of a second each
	run := precise(0.03, steady, wild)
	for _, c := range []struct {
		limit time.Duration
		goes  bool
	}{{14 * time.Second, false}, {15 * time.Second, true}, {0, true}} { // 12 s for 6 rounds of two, 3 s for 3 of one
		run.Policy.MaxTime = results.Duration(c.limit)
		keys, err := GoOn(run, journal(samples), 0, 0)
		if err != nil || (len(keys) > 0) != c.goes {
			t.Errorf("%s: %v %v, want more: %v", c.limit, keys, err, c.goes)
		}
	}
	run.Policy.MaxTime = results.Duration(14 * time.Second)
	row := rowsOf(t, run, samples[:12])[1]
	check(t, row, results.Stable, "±3 % not reached since more samples would take the run beyond max-time 14s (6 samples): throughput ±8.47 %, p50 ±0 %")
}

// Every row says how precise it is; a note tells it of those that are as precise as they were to be.
func TestRowsOfAPrecision(t *testing.T) {
	steady, wild, samples := steadyAndWild(28)
	own := func(c results.Cell, n int) (list []results.Sample) {
		for _, s := range samples {
			if s.Cell == c.Key() && len(list) < n {
				list = append(list, s)
			}
		}
		return list
	}
	run := precise(0.03, steady, wild)
	rows := rowsOf(t, run, own(steady, 6), own(wild, 28))
	check(t, rows[0], results.Stable, "")
	check(t, rows[1], results.Stable, "±3 % not reached in 28 rounds, the most it takes (28 samples): throughput ±5.05 %, p50 ±0 %")
	if lo, hi := rows[1].ThroughputLo.Or(0), rows[1].ThroughputHi.Or(0); lo != 1044 || hi != 1155 {
		t.Errorf("interval %v to %v: want the seventh and the seventh last", lo, hi)
	}
	notes := func(lists ...[]results.Sample) (text []string) {
		n, err := notesFrom(run, flatten(lists))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range n {
			if strings.HasPrefix(n.Kind, "precision") || n.Kind == NoteIncomplete {
				text = append(text, n.Kind+": "+n.Text)
			}
		}
		return text
	}
	if got, want := notes(own(steady, 6), own(wild, 28)), []string{
		"precision: ±3 % reached with 6 samples: throughput ±0.1 %, p50 ±0 %",
		"precision missed: ±3 % not reached in 28 rounds, the most it takes (28 samples): throughput ±5.05 %, p50 ±0 %",
	}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got, want := notes(own(steady, 6), own(wild, 8)), []string{
		"precision: ±3 % reached with 6 samples: throughput ±0.1 %, p50 ±0 %",
		"incomplete: 8 samples",
		"precision missed: ±3 % not reached when the run was interrupted (8 samples): throughput ±11.2 %, p50 ±0 %",
	}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	// An interrupted rerun decides nothing, however good it looks; a whole one does.
	bad := tens(wild, 100, 200, 500, 510, 520, 530)
	for i := range 22 {
		bad = append(bad, measured(wild, 6+i, int64(100+20*i), 10_000))
	}
	good := tens(wild, 500, 500, 500, 500, 500, 500)
	check(t, rowsOf(t, run, own(steady, 6), bad, again(1, slices.Clone(good[:5])))[1], results.Unstable,
		"core 2.78 > 1.35; rerun interrupted after 5 samples; ±3 % not reached in 28 rounds, the most it takes (28 samples): throughput ±45.5 %, p50 ±0 %")
	check(t, rowsOf(t, run, own(steady, 6), bad, again(1, good))[1], results.Recovered, "first attempt: core 2.78 > 1.35")
}
