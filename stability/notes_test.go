package stability

import (
	"reflect"
	"slices"
	"testing"

	"msgbench/results"
)

func notesOf(t *testing.T, run results.Run, samples ...[]results.Sample) []Note {
	t.Helper()
	notes, err := notesFrom(run, flatten(samples))
	if err != nil {
		t.Fatal(err)
	}
	return notes
}

func TestNotes(t *testing.T) {
	bad := func() []results.Sample { return tens(atMax, 100, 200, 500, 510, 520) }
	good := func() []results.Sample { return tens(atMax, 500, 510, 520, 530, 540) }
	key := atMax.Key()
	at := func(attempt, firstRound int, lines ...int) []Place {
		var p []Place
		for i, l := range lines {
			p = append(p, Place{Line: l, Round: firstRound + i, Attempt: attempt})
		}
		return p
	}
	rejected := good()
	for i, reason := range []string{"schedule not kept: own lateness p99 230µs > 100µs",
		"ramp: last third / first third of the window = 2.57", "schedule not kept: own lateness p99 1ms > 100µs"} {
		ended(rejected, 2*i, results.Rejected, reason)
	}
	for _, c := range []struct {
		name    string
		samples [][]results.Sample
		want    []Note
		where   string // of the first
	}{
		{"nothing to tell", [][]results.Sample{good()}, nil, ""},
		{"not measured", nil, nil, ""},
		{"raw outliers", [][]results.Sample{tens(atMax, 10, 500, 510, 520, 9000)}, []Note{
			{NoteOutlier, key, "raw max/min of throughput 900.00 > 1.35, core 1.04: 10/s, 500/s, 510/s, 520/s, 9k/s", at(0, 0, 1, 2, 3, 4, 5)},
		}, "samples.jsonl lines 1, 2, 3, 4, 5 (rounds 0, 1, 2, 3, 4)"},
		{"raw outlier of zero", [][]results.Sample{tens(atMax, 0, 500, 510, 520, 530)}, []Note{
			{NoteOutlier, key, "raw max/min of throughput +Inf > 1.35, core 1.04: 0/s, 500/s, 510/s, 520/s, 530/s", at(0, 0, 1, 2, 3, 4, 5)},
		}, "samples.jsonl lines 1, 2, 3, 4, 5 (rounds 0, 1, 2, 3, 4)"},
		{"an unstable core needs no note", [][]results.Sample{bad()}, nil, ""},
		{"rerun", [][]results.Sample{bad(), again(1, good())}, []Note{
			{NoteRerun, key, "attempt 0 core 2.55 > 1.35 (500/s, core 2.55, 5 samples); attempt 1 stable (520/s, core 1.04, 5 samples); attempt 1 decides: recovered",
				append(at(0, 0, 1, 2, 3, 4, 5), at(1, 100, 6, 7, 8, 9, 10)...)},
		}, "samples.jsonl lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 (rounds 0, 1, 2, 3, 4, 100, 101, 102, 103, 104)"},
		{"rerun interrupted", [][]results.Sample{bad(), again(1, good()[:1])}, []Note{
			{NoteRerun, key,
				"attempt 0 core 2.55 > 1.35 (500/s, core 2.55, 5 samples); attempt 1 too few samples: 1, want 3 (500/s, core 1.00, 1 samples); attempt 0 decides: unstable",
				append(at(0, 0, 1, 2, 3, 4, 5), at(1, 100, 6)...)},
		}, "samples.jsonl lines 1, 2, 3, 4, 5, 6 (rounds 0, 1, 2, 3, 4, 100)"},
		{"a failure that a retry replaced", [][]results.Sample{ended(good(), 2, results.Failed, "server: exit 3"), again(1, good())}, []Note{
			{NoteRerun, key, "attempt 0 server: exit 3 (520/s, core 1.08, 4 samples); attempt 1 stable (520/s, core 1.04, 5 samples); attempt 1 decides: recovered",
				append(at(0, 0, 1, 2, 3, 4, 5), at(1, 100, 6, 7, 8, 9, 10)...)},
			{NoteFailed, key, "server: exit 3", at(0, 2, 3)},
		}, "samples.jsonl lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 (rounds 0, 1, 2, 3, 4, 100, 101, 102, 103, 104)"},
		{"rejected", [][]results.Sample{rejected}, []Note{
			{NoteIncomplete, key, "2 of 5 samples", []Place{{2, 1, 0}, {4, 3, 0}}},
			{NoteRejected, key, "schedule not kept: own lateness p99 230µs > 100µs; own lateness p99 1ms > 100µs", []Place{{1, 0, 0}, {5, 4, 0}}},
			{NoteRejected, key, "ramp: last third / first third of the window = 2.57", []Place{{3, 2, 0}}},
		}, "samples.jsonl lines 2, 4 (rounds 1, 3)"},
		{"interrupted", [][]results.Sample{good()[:3]}, []Note{{NoteIncomplete, key, "3 of 5 samples", at(0, 0, 1, 2, 3)}},
			"samples.jsonl lines 1, 2, 3 (rounds 0, 1, 2)"},
		{"failed alone", [][]results.Sample{ended(good()[:1], 0, results.Failed, "server:\nkilled")}, []Note{{NoteFailed, key, "server: killed", at(0, 0, 1)}},
			"samples.jsonl line 1 (round 0)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The values stand in an order that a reader checks at a glance, so they drift: see TestDriftInRowsAndNotes.
			got := slices.DeleteFunc(notesOf(t, runOf(atMax), c.samples...), func(n Note) bool { return n.Kind == NoteDrift })
			if !reflect.DeepEqual(got, c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
			if len(got) > 0 && got[0].Where() != c.where {
				t.Errorf("where: %s\nwant   %s", got[0].Where(), c.where)
			}
		})
	}
}

func TestNotesAtFixedRate(t *testing.T) {
	got := notesOf(t, runOf(at100), timed(at100, 1_000, 2_000, 2_000, 2_000, 9_000))
	if len(got) != 1 || got[0].Text != "raw max/min of p50 9.00 > 1.35, core 1.00: 1 µs, 2 µs, 2 µs, 2 µs, 9 µs" {
		t.Errorf("%+v", got)
	}
}

// A note names at most so many figures.
func TestNotesStayShort(t *testing.T) {
	var list []results.Sample
	for i := range 9 {
		s := measured(atMax, i, 500, 10_000)
		s.Outcome, s.Reason = results.Rejected, "ramp: 2."+string(rune('0'+i))
		list = append(list, s)
	}
	got := notesOf(t, runOf(atMax), list)
	if n := got[len(got)-1]; n.Text != "ramp: 2.0; 2.1; 2.2; 2.3; 2.4; and 4 more" || len(n.At) != 9 {
		t.Errorf("%+v", n)
	}
}

func TestText(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 9.5: "9.5", 950: "950", 999.999: "1000", 1000: "1k", 61_200: "61.2k",
		98_960: "98.96k", 100_000: "100k", 2_480_000: "2.48M", 1e7: "10M"} {
		if got := rateText(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
	for _, c := range []struct {
		ratio, limit float64
		want         string
	}{{1.52, 1.35, "1.52 > 1.35"}, {1.3501, 1.35, "1.3501 > 1.35"}, {2.001, 2, "2.001 > 2"}, {255, 1.35, "255.00 > 1.35"}, {3, 2, "3.00 > 2"}} {
		if got := above(c.ratio, c.limit); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := joined([]string{"b", "", "a", "b"}); got != "a|b" {
		t.Errorf("%q", got)
	}
}
