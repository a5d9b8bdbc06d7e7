package stability

import (
	"slices"
	"testing"

	"msgbench/results"
)

// One attempt at max: the metric is throughput.
func TestVerdictAtMax(t *testing.T) {
	for _, c := range []struct {
		name            string
		ops             []int64
		verdict, reason string
		samples, core   float64
		throughput      float64
		again           bool // gets a rerun
	}{
		{"3 equal", []int64{500, 500, 500}, results.Stable, "", 3, 3, 500, false},
		{"3, one outlier", []int64{500, 500, 900}, results.Unstable, "core 1.80 > 1.35", 3, 3, 500, true},
		{"4", []int64{500, 510, 520, 530}, results.Stable, "", 4, 4, 515, false},
		{"5 equal", []int64{500, 500, 500, 500, 500}, results.Stable, "", 5, 3, 500, false},
		{"5, one outlier a side", []int64{1, 500, 510, 520, 9000}, results.Stable, "", 5, 3, 510, false},
		{"5, two low", []int64{1, 2, 500, 510, 520}, results.Unstable, "core 255.00 > 1.35", 5, 3, 500, true},
		{"5, two high", []int64{500, 510, 520, 800, 900}, results.Unstable, "core 1.57 > 1.35", 5, 3, 520, true},
		{"6", []int64{1, 500, 510, 520, 530, 9000}, results.Stable, "", 6, 4, 515, false},
		{"10, two a side", []int64{1, 2, 500, 500, 500, 500, 500, 500, 8000, 9000}, results.Stable, "", 10, 6, 500, false},
		{"10, three low", []int64{1, 2, 3, 500, 500, 500, 500, 500, 500, 500}, results.Unstable, "core 166.67 > 1.35", 10, 6, 500, true},
		{"15, three a side", []int64{1, 2, 3, 500, 500, 500, 500, 500, 500, 500, 500, 500, 7000, 8000, 9000}, results.Stable, "", 15, 9, 500, false},
		{"exactly 1.35", []int64{1, 100_000, 110_000, 135_000, 900_000}, results.Stable, "", 5, 3, 110_000, false},
		{"just above 1.35", []int64{1, 100_000, 110_000, 135_001, 900_000}, results.Unstable, "core 1.35001 > 1.35", 5, 3, 110_000, true},
		{"a zero that is dropped", []int64{0, 500, 510, 520, 530}, results.Stable, "", 5, 3, 510, false},
		{"a zero in the core", []int64{0, 0, 500, 510, 520}, results.Unstable, "a zero in the core of throughput", 5, 3, 500, true},
		{"zeros", []int64{0, 0, 0, 0, 0}, results.Unstable, "a zero in the core of throughput", 5, 3, 0, true},
		{"2", []int64{500, 500}, results.Unstable, "too few samples: 2, want 3", 2, 2, 500, false},
		{"1", []int64{500}, results.Unstable, "too few samples: 1, want 3", 1, 1, 500, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := runOf(atMax)
			row := rowsOf(t, run, tens(atMax, c.ops...))[0]
			check(t, row, c.verdict, c.reason)
			if row.Samples.Or(-1) != c.samples || row.CoreSamples.Or(-1) != c.core || row.Throughput.Or(-1) != c.throughput {
				t.Errorf("samples %v, core %v, throughput %v, want %v, %v, %v", row.Samples, row.CoreSamples, row.Throughput, c.samples, c.core, c.throughput)
			}
			rerun(t, run, c.again, tens(atMax, c.ops...))
		})
	}
}

func rerun(t *testing.T, run results.Run, want bool, samples ...[]results.Sample) {
	t.Helper()
	keys, err := Rerun(run, journal(flatten(samples)))
	if err != nil {
		t.Fatal(err)
	}
	key := run.Cells[len(run.Cells)-1].Key()
	if slices.Contains(keys, key) != want {
		t.Errorf("reruns %v, want %s in it: %v", keys, key, want)
	}
}

// At a fixed rate throughput repeats the target, so the service time tells whether a cell is steady.
func TestVerdictAtFixedRate(t *testing.T) {
	late := timed(at100, 10_000, 10_100, 10_200, 10_300, 10_400)
	for i := range late { // wild response times: how late the machine was, not how steady the transport
		late[i].Measurement.Latency = flat(int64(20_000 * (1 + 10*i)))
	}
	few := timed(at100, 10_000, 10_000, 10_000, 10_000, 10_000)
	few[2].Measurement.Service = counted(map[int64]int64{10_000: 19}) // shows no p50
	untimed := tens(at100, 100_000, 100_000, 100_000, 100_000, 100_000)
	wild := tens(at100, 100_000, 150_000, 200_000, 300_000, 400_000)
	for _, list := range [][]results.Sample{untimed, wild} {
		for i := range list {
			m := list[i].Measurement
			m.Latency, m.Service = nil, nil
		}
	}
	oneWay := timed(at100, 10_000, 20_000, 30_000, 40_000, 50_000)
	for i := range oneWay {
		oneWay[i].Measurement.Service = nil
	}
	for _, c := range []struct {
		name            string
		samples         []results.Sample
		verdict, reason string
		ratio           float64
		again           bool
	}{
		{"steady", timed(at100, 10_000, 10_100, 10_200, 10_300, 10_400), results.Stable, "", 1.02, false},
		{"steady throughput, wild service time", timed(at100, 5_000, 10_000, 15_000, 20_000, 40_000), results.Unstable, "core 2.00 > 1.35", 1.999, true},
		{"one outlier a side", timed(at100, 1_000, 10_000, 10_100, 10_200, 90_000), results.Stable, "", 1.02, false},
		{"wild response time", late, results.Stable, "", 1.02, false},
		{"a p50 that a sample does not show", few, results.Unstable, "a sample has too few operations for a p50", 1, true},
		{"no latency at all: throughput tells", untimed, results.Stable, "", 1, false},
		{"no latency, wild throughput", wild, results.Unstable, "core 2.00 > 1.35", 2, true},
		{"open loop: its one latency tells", oneWay, results.Unstable, "core 2.00 > 1.35", 2.001, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := runOf(at100)
			row := rowsOf(t, run, c.samples)[0]
			check(t, row, c.verdict, c.reason)
			if r := row.CoreRatio.Or(-1); r < c.ratio-0.002 || r > c.ratio+0.002 {
				t.Errorf("core ratio %v, want %v", row.CoreRatio, c.ratio)
			}
			rerun(t, run, c.again, c.samples)
		})
	}
}

// Rule 6: delivered less than asked for.
func TestVerdictOversubscribed(t *testing.T) {
	steady := tens(atMax, 61_000, 62_000, 62_000, 63_000, 64_000)
	tight := tens(at100, 60_000, 61_000, 61_200, 61_500, 62_000)
	loose := tens(at100, 20_000, 40_000, 61_200, 61_500, 62_000)
	for _, c := range []struct {
		name            string
		max, fixed      []results.Sample
		verdict, reason string
		ratio           float64
		again           bool
	}{
		{"capacity known, tight core", steady, tight, results.Oversubscribed, "delivered 61.2k of 100k/s, capacity 62k/s", 1.008, false},
		{"capacity known, loose core", steady, loose, results.Unstable, "core 1.54 > 1.35; delivered 61.2k of 100k/s, capacity 62k/s", 1.538, true},
		{"capacity not measured", nil, tight, results.Unstable, "target missed: delivered 61.2k of 100k/s, max skipped", 1, true},
		{"capacity not measured, loose core", nil, loose, results.Unstable, "target missed: delivered 61.2k of 100k/s, max skipped", 1, true},
		{"capacity unstable", tens(atMax, 1, 2, 50_000, 90_000, 100_000), tight, results.Unstable, "target missed: delivered 61.2k of 100k/s, max unstable", 1, true},
		{"capacity failed", ended(tens(atMax, 61_000, 62_000, 62_000, 63_000, 64_000), 0, results.Failed, "x"), tight, results.Unstable,
			"target missed: delivered 61.2k of 100k/s, max failed", 1, true},
		{"capacity above the target", tens(atMax, 120_000, 120_000, 120_000, 120_000, 120_000), tight, results.Unstable,
			"target missed: delivered 61.2k of 100k/s, capacity 120k/s", 1, true},
		{"capacity is the target", tens(atMax, 100_000, 100_000, 100_000, 100_000, 100_000), tight, results.Unstable,
			"target missed: delivered 61.2k of 100k/s, capacity 100k/s", 1, true},
		{"delivered exactly 0.99", steady, tens(at100, 99_000, 99_000, 99_000, 99_000, 99_000), results.Stable, "", 1, false},
		{"delivered just less", steady, tens(at100, 98_999, 98_999, 98_999, 98_999, 98_999), results.Oversubscribed,
			"delivered 99k of 100k/s, capacity 62k/s", 1, false},
		{"most samples delivered", steady, tens(at100, 50_000, 60_000, 100_000, 100_000, 100_000), results.Stable, "", 1, false},
		{"too few come first", steady, tens(at100, 50_000, 60_000), results.Unstable, "too few samples: 2, want 3", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := runOf(atMax, at100)
			row := rowsOf(t, run, c.max, c.fixed)[1]
			check(t, row, c.verdict, c.reason)
			if row.CoreRatio.Or(-1) != c.ratio {
				t.Errorf("core ratio %v, want %v", row.CoreRatio, c.ratio)
			}
			rerun(t, run, c.again, c.max, c.fixed)
		})
	}
	t.Run("no max in the run", func(t *testing.T) {
		run := runOf(at100)
		check(t, rowsOf(t, run, tight)[0], results.Unstable, "target missed: delivered 61.2k of 100k/s, max not in the run")
		rerun(t, run, true, tight)
	})
	t.Run("max stands after the fixed rate", func(t *testing.T) {
		check(t, rowsOf(t, runOf(at100, atMax), steady, tight)[0], results.Oversubscribed, "delivered 61.2k of 100k/s, capacity 62k/s")
	})
	t.Run("another pair's max does not count", func(t *testing.T) {
		spin := atMax
		spin.Dims = map[string]string{"wait": "spin"}
		run := runOf(spin, at100)
		check(t, rowsOf(t, run, tens(spin, 62_000, 62_000, 62_000), tight)[1], results.Unstable, "target missed: delivered 61.2k of 100k/s, max not in the run")
	})
}

// Batches count items, but the target rate paces batches, and so is capacity told.
func TestVerdictOfBatches(t *testing.T) {
	most, paced := atMax, at100
	most.Scenario, paced.Scenario = "batch", "batch"
	paced.Rate = 1000
	batches := func(list []results.Sample, n int64) []results.Sample {
		for i := range list {
			list[i].Measurement.Messages = n
		}
		return list
	}
	run := runOf(most, paced)
	capacity := batches(tens(most, 400_000, 400_000, 400_000), 800)

	kept := batches(tens(paced, 500_000, 500_000, 500_000), 1000)
	check(t, rowsOf(t, run, capacity, kept)[1], results.Stable, "")
	// 400,000 items a second are more than the target, 790 batches are not.
	missed := batches(tens(paced, 395_000, 395_000, 395_000), 790)
	check(t, rowsOf(t, run, capacity, missed)[1], results.Oversubscribed, "delivered 790 of 1k/s, capacity 800/s")
}

// Rule 8, and rule 7: one failed sample is enough.
func TestPrecedence(t *testing.T) {
	steady := func() []results.Sample { return tens(atMax, 500, 500, 500, 500, 500) }
	bad := func() []results.Sample { return tens(atMax, 100, 200, 500, 510, 520) }
	for _, c := range []struct {
		name            string
		samples         []results.Sample
		verdict, reason string
	}{
		{"failed before stable", ended(steady(), 4, results.Failed, "lost 3 of 500"), results.Failed, "lost 3 of 500"},
		{"failed before unstable", ended(bad(), 4, results.Failed, "lost 3 of 500"), results.Failed, "lost 3 of 500"},
		{"failed before skipped", ended(ended(steady(), 0, results.Skipped, "none"), 4, results.Failed, "died"), results.Failed, "died"},
		{"skipped before unstable", ended(bad(), 0, results.Skipped, "no such peer"), results.Skipped, "no such peer"},
		{"the first of several failures", ended(ended(steady(), 3, results.Failed, "second"), 1, results.Failed, "first"), results.Failed,
			"first (2 of 5 samples failed)"},
		{"failed before too few", ended(steady()[:1], 0, results.Failed, "died"), results.Failed, "died"},
		{"a reason of several lines", ended(steady(), 0, results.Failed, "panic:\n\tgoroutine 1"), results.Failed, "panic: goroutine 1"},
		{"rejected samples do not count", ended(ended(steady(), 0, results.Rejected, "ramp"), 1, results.Rejected, "ramp"), results.Stable, ""},
		{"too many rejected", ended(ended(ended(steady(), 0, results.Rejected, "late"), 1, results.Rejected, "late"), 2, results.Rejected, "late"),
			results.Unstable, "too few samples: 2, want 3; 3 rejected: late"},
		{"none", nil, results.Skipped, "not measured: the run was interrupted"},
		{"interrupted, but enough", steady()[:3], results.Stable, ""},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, rowsOf(t, runOf(atMax), c.samples)[0], c.verdict, c.reason) })
	}
	t.Run("oversubscribed before recovered", func(t *testing.T) {
		run := runOf(atMax, at100)
		rows := rowsOf(t, run, tens(atMax, 500, 500, 500), tens(at100, 100, 200, 480, 490, 495), again(1, tens(at100, 490, 490, 490, 490, 490)))
		check(t, rows[1], results.Oversubscribed, "delivered 490 of 100k/s, capacity 500/s")
	})
	t.Run("core smaller than the policy asks", func(t *testing.T) {
		run := runOf(atMax)
		run.Policy.MinCore = 4
		check(t, rowsOf(t, run, steady())[0], results.Unstable, "too few samples: 5, core 3, want 4")
		rerun(t, run, false, steady())
	})
}

// A journal that is not this run's is refused: its rows would be wrong.
func TestSamplesOfAnotherRun(t *testing.T) {
	twice := tens(atMax, 500, 500, 500)
	twice[2].Round = 0
	nothing := tens(atMax, 500)
	nothing[0].Measurement = nil
	strange := tens(atMax, 500)
	strange[0].Outcome = "good"
	for _, c := range []struct {
		name    string
		run     results.Run
		samples []results.Sample
		want    string
	}{
		{"unknown cell", runOf(atMax), tens(at100, 1), `line 1: cell "ping-pong/shm/go-go/64B/100000" is none of this run's: the journal belongs to another run`},
		{"one sample twice", runOf(atMax), twice, "lines 1 and 3 are the same sample: attempt 0, round 0, try 0 of ping-pong/shm/go-go/64B/max"},
		{"one cell twice", runOf(atMax, at100, atMax), nil, "cell ping-pong/shm/go-go/64B/max stands twice in the run"},
		{"no measurement", runOf(atMax), nothing, "line 1: ok sample without a measurement"},
		{"no outcome", runOf(atMax), strange, `line 1: outcome "good": want ok, rejected, disturbed, failed, skipped, step or calibration`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err1 := rowsFrom(c.run, c.samples)
			_, err2 := Rerun(c.run, journal(c.samples))
			_, err3 := notesFrom(c.run, c.samples)
			for _, err := range []error{err1, err2, err3} {
				if err == nil || err.Error() != c.want {
					t.Errorf("%v\nwant %s", err, c.want)
				}
			}
		})
	}
	_, err := Rerun(runOf(atMax), journal(again(1, tens(atMax, 1))))
	if want := "ping-pong/shm/go-go/64B/max: has samples of attempt 1 but none of attempt 0"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
