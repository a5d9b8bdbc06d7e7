package stability

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"msgbench/results"
)

// random makes a run of a few cells with samples of every sort.
func random(r *rand.Rand) (results.Run, []results.Sample) {
	fast, slow := atMax, at100
	fast.Dims, slow.Dims = map[string]string{"wait": "spin"}, map[string]string{"wait": "spin"}
	run := runOf(atMax, at100, fast, slow)
	var all []results.Sample
	for _, c := range run.Cells {
		spread := math.Exp(r.Float64() * 1.2)
		for attempt := range 1 + r.IntN(2) {
			for round := range r.IntN(12) {
				ops := int64(20_000 * math.Pow(spread, r.Float64()))
				if c.Rate != 0 && r.IntN(3) > 0 {
					ops = int64(c.Rate)
				}
				s := measured(c, round+100*attempt, ops, int64(10_000*math.Pow(spread, r.Float64())))
				s.Attempt = attempt
				m := s.Measurement
				m.WindowNs += r.Int64N(second / 10)
				m.PacerNs = r.Int64N(second)
				m.CPUNs = map[string]int64{results.Client: r.Int64N(2 * second), results.Server: r.Int64N(2 * second), results.Broker: r.Int64N(second)}
				m.Facts = map[string]string{"a": "x", "b": string(rune('p' + r.IntN(2)))}
				counts := map[int64]int64{}
				for range r.IntN(400) {
					counts[1+int64(r.ExpFloat64()*1e5)]++
				}
				m.Latency = counted(counts)
				switch r.IntN(40) {
				case 0:
					s.Outcome, s.Reason, s.Measurement = results.Failed, "died "+string(rune('a'+r.IntN(3))), nil
				case 1:
					s.Outcome, s.Reason = results.Rejected, "ramp: 2"
				}
				all = append(all, s)
			}
		}
	}
	return run, all
}

func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 21))
	seen := map[string]int{}
	for range 40 {
		run, samples := random(r)
		rows, err := rowsFrom(run, samples)
		if err != nil {
			t.Fatal(err)
		}

		// The order of the samples does not matter, and a trip through the journal changes nothing.
		shuffled := readBack(t, samples)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again, err := rowsFrom(run, shuffled)
		if err != nil || !slices.Equal(rows, again) {
			t.Fatalf("%v: shuffled samples give other rows:\n%+v\n%+v", err, rows, again)
		}

		for i, row := range rows {
			seen[row.Verdict]++
			if row.Cell != run.Cells[i].Key() {
				t.Fatalf("row %d is %s, want %s", i, row.Cell, run.Cells[i].Key())
			}
			if strings.ContainsAny(row.Reason+row.Options, "\r\n") ||
				(row.Verdict == results.Stable) != (row.Reason == "" || strings.HasPrefix(row.Reason, "rerun interrupted")) {
				t.Errorf("%s: reason %q", row.Verdict, row.Reason)
			}
			figures(t, run.Policy, row)
		}
		rerunOnlyUnstable(t, run, samples)

		// What the CSV holds is what the rows say.
		data, err := results.Table{Rows: rows}.MarshalCSV()
		if err != nil {
			t.Fatal(err)
		}
		if read, err := results.ParseCSV("x", data); err != nil || !slices.Equal(read.Rows, rows) {
			t.Fatalf("%v: rows changed on the way through the CSV", err)
		}
	}
	for _, v := range []string{results.Stable, results.Recovered, results.Oversubscribed, results.Unstable, results.Failed, results.Skipped} {
		if seen[v] == 0 {
			t.Errorf("no row was %s: the test does not reach it (%v)", v, seen)
		}
	}
}

// figures checks what holds for every row.
func figures(t *testing.T, p results.Policy, row results.Row) {
	t.Helper()
	if row.Verdict == results.Failed || row.Verdict == results.Skipped {
		if row.Throughput.OK() || row.P50Us.OK() || row.TotalCPU.OK() || row.Sent.OK() {
			t.Errorf("a %s row has figures: %+v", row.Verdict, row)
		}
		return
	}
	if results.Publishable(row.Verdict) && (row.CoreSamples.Or(0) < float64(p.MinCore) || !row.CoreRatio.OK() || row.CoreRatio.Or(9) > p.CoreRatio) {
		t.Errorf("%s with core %v, %v", row.Verdict, row.CoreSamples, row.CoreRatio)
	}
	if row.Samples.Or(0) == 0 {
		return
	}
	if sum := results.N(row.ClientCPU.Or(0) + row.ServerCPU.Or(0) + row.BrokerCPU.Or(0)); row.TotalCPU != sum {
		t.Errorf("total CPU %v, but its parts are %v", row.TotalCPU, sum)
	}
	ascending := func(names string, v ...results.Num) {
		v = slices.DeleteFunc(v, func(n results.Num) bool { return !n.OK() })
		if !slices.IsSortedFunc(v, func(a, b results.Num) int { return int(math.Copysign(1, a.Or(0)-b.Or(0))) }) {
			t.Errorf("%s do not ascend: %v", names, v)
		}
	}
	ascending("percentiles", row.MinUs, row.P50Us, row.P90Us, row.P95Us, row.P99Us, row.P999Us, row.MaxUs)
	ascending("throughput and its interval", row.ThroughputLo, row.Throughput, row.ThroughputHi)
	if (row.Samples.Or(0) >= 5) != row.ThroughputLo.OK() || row.ThroughputLo.OK() != row.ThroughputHi.OK() {
		t.Errorf("%v samples, interval %v to %v", row.Samples, row.ThroughputLo, row.ThroughputHi)
	}
	if row.CoreRatio.Or(0) > row.RawRatio.Or(math.Inf(1)) {
		t.Errorf("core ratio %v above the raw ratio %v", row.CoreRatio, row.RawRatio)
	}
}

// rerunOnlyUnstable: after the first attempt alone, what is rerun is unstable, and every row says the verdict it would
// have without a rerun.
func rerunOnlyUnstable(t *testing.T, run results.Run, samples []results.Sample) {
	t.Helper()
	first := slices.DeleteFunc(slices.Clone(samples), func(s results.Sample) bool { return s.Attempt > 0 })
	keys, err := Rerun(run, journal(first))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rowsFrom(run, first)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		want := row.Verdict == results.Unstable && !strings.HasPrefix(row.Reason, "too few samples")
		if slices.Contains(keys, row.Cell) != want {
			t.Errorf("%s %q: rerun is %v", row.Verdict, row.Reason, !want)
		}
	}
}

// readBack is the samples as read from their journal.
func readBack(t *testing.T, samples []results.Sample) []results.Sample {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, s := range samples {
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	read, cut, err := results.ParseJournal(b.Bytes())
	if err != nil || cut != 0 {
		t.Fatal(cut, err)
	}
	return read
}

// BenchmarkRows is a run of 2,000 cells with 7 samples each.
func BenchmarkRows(b *testing.B) {
	var run results.Run
	var samples []results.Sample
	for i := range 2000 {
		c := atMax
		c.Payload = i
		run = runOf(append(run.Cells, c)...)
		samples = append(samples, tens(c, 500, 510, 520, 530, 540, 550, 560)...)
	}
	for b.Loop() {
		if _, err := rowsFrom(run, samples); err != nil {
			b.Fatal(err)
		}
	}
}
