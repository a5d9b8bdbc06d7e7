package stability

import (
	"slices"
	"testing"

	"msgbench/results"
)

// Rule 5: the rerun decides, once it is whole.
func TestVerdictOfRerun(t *testing.T) {
	good := func() []results.Sample { return tens(atMax, 500, 510, 520, 530, 540) }
	bad := func() []results.Sample { return tens(atMax, 100, 200, 500, 510, 520) }   // core 2.55
	worse := func() []results.Sample { return tens(atMax, 100, 100, 500, 510, 520) } // core 5.1
	for _, c := range []struct {
		name            string
		first, second   []results.Sample
		verdict, reason string
		throughput      float64
	}{
		{"holds", bad(), good(), results.Recovered, "first attempt: core 2.55 > 1.35", 520},
		{"of a good cell, with the other of its pair", good(), good(), results.Stable, "", 520},
		{"falls short again", bad(), worse(), results.Unstable, "core 5.10 > 1.35; first attempt: core 2.55 > 1.35", 500},
		{"fails", bad(), ended(good(), 1, results.Failed, "server: exit 1"), results.Failed, "server: exit 1", -1},
		{"is skipped", bad(), ended(good()[:1], 0, results.Skipped, "no futex here"), results.Skipped, "no futex here", -1},
		{"was interrupted early", bad(), good()[:1], results.Unstable, "core 2.55 > 1.35; rerun interrupted after 1 of 5 samples", 500},
		{"was interrupted when it held", bad(), good()[:4], results.Unstable, "core 2.55 > 1.35; rerun interrupted after 4 of 5 samples", 500},
		{"was interrupted after a failure", bad(), ended(good()[:2], 1, results.Failed, "client: hung"), results.Failed, "client: hung", -1},
		{"has too few that count", bad(), ended(ended(ended(good(), 0, results.Rejected, "ramp"), 1, results.Rejected, "ramp"), 2, results.Rejected, "ramp"),
			results.Unstable, "too few samples: 2, want 3; 3 rejected: ramp; first attempt: core 2.55 > 1.35", 535},
		{"of a failed cell (a retry)", ended(good(), 4, results.Failed, "broker: exit 2"), good(), results.Recovered, "first attempt: broker: exit 2", 520},
		{"of a failed cell, interrupted", ended(good(), 4, results.Failed, "broker: exit 2"), good()[:3], results.Failed,
			"broker: exit 2; rerun interrupted after 3 of 5 samples", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := rowsOf(t, runOf(atMax), c.first, again(1, c.second))[0]
			check(t, row, c.verdict, c.reason)
			if row.Throughput.Or(-1) != c.throughput {
				t.Errorf("throughput %v, want %v: the attempt that decides gives the figures", row.Throughput, c.throughput)
			}
		})
	}
	t.Run("a third attempt", func(t *testing.T) {
		row := rowsOf(t, runOf(atMax), bad(), again(1, worse()), again(2, good()))[0]
		check(t, row, results.Recovered, "2 of 2 attempts before it did not hold, the first of these: core 2.55 > 1.35")
		row = rowsOf(t, runOf(atMax), good(), again(1, worse()), again(2, good()))[0]
		check(t, row, results.Recovered, "1 of 2 attempts before it did not hold, the first of these: core 5.10 > 1.35")
		row = rowsOf(t, runOf(atMax), bad(), again(1, good()), again(2, worse()))[0]
		check(t, row, results.Unstable, "core 5.10 > 1.35; 1 of 2 attempts before it did not hold, the first of these: core 2.55 > 1.35")
	})
	t.Run("capacity from a recovered max", func(t *testing.T) {
		run := runOf(atMax, at100)
		fixed := tens(at100, 520, 520, 520, 520, 520)
		rows := rowsOf(t, run, bad(), again(1, good()), fixed, again(1, tens(at100, 510, 510, 510, 510, 510)))
		check(t, rows[1], results.Oversubscribed, "delivered 510 of 100k/s, capacity 520/s")
	})
}

// What is to be rerun does not change while the rerun goes on, so that a resumed run asks again.
func TestRerunLooksAtTheFirstAttempt(t *testing.T) {
	run := runOf(atMax, at100)
	bad := tens(atMax, 100, 200, 500, 510, 520)
	fixed := timed(at100, 10, 20, 30, 40, 50)
	second := again(1, tens(atMax, 500, 510, 520, 530, 540))
	for n := range len(second) + 1 {
		keys, err := Rerun(run, journal(flatten([][]results.Sample{bad, fixed, second[:n]})))
		if err != nil || !slices.Equal(keys, []string{atMax.Key(), at100.Key()}) {
			t.Errorf("after %d samples of the rerun: %v %v", n, keys, err)
		}
	}
	run.Policy.Reruns = 0
	if keys, err := Rerun(run, journal(bad)); err != nil || keys != nil {
		t.Errorf("without reruns: %v %v", keys, err)
	}
}

// Those that a rerun can't cure, or that did not fall short.
func TestNoRerun(t *testing.T) {
	bad := func() []results.Sample { return tens(atMax, 100, 200, 500, 510, 520) }
	for name, samples := range map[string][]results.Sample{
		"stable":           tens(atMax, 500, 500, 500),
		"failed":           ended(bad(), 0, results.Failed, "x"),
		"skipped":          ended(bad()[:1], 0, results.Skipped, "x"),
		"too few":          bad()[:2],
		"all rejected":     ended(ended(bad()[:2], 0, results.Rejected, "x"), 1, results.Rejected, "x"),
		"not measured yet": nil,
	} {
		t.Run(name, func(t *testing.T) { rerun(t, runOf(atMax), false, samples) })
	}
}
