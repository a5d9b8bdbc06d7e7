package stability

import (
	"reflect"
	"slices"
	"testing"

	"msgbench/results"
)

func calibration(of string, round int, line, pipe float64) results.Sample {
	s := results.Sample{Cell: results.CalibrationCell, Outcome: results.Calibrated, Round: round,
		Calibration: &results.Calibration{Of: of, LineNs: line, PipeNs: pipe}}
	if line == 0 {
		s.Reason = "client: killed"
	}
	return s
}

func TestCalibrations(t *testing.T) {
	samples := []results.Sample{
		calibration("", 0, 100, 5000), calibration("", 1, 0, 0), calibration("b", 0, 300, 9000), calibration("", 1, 150, 5500), calibration("", 2, 80, 5250),
	}
	of := func(samples ...results.Sample) (c Calibrations) {
		for _, s := range samples {
			c.Add(s)
		}
		return c
	}
	got := of(samples...)
	want := Calibrations{
		{Series: []Series{{"cache line", []int{0, 1, 2}, []float64{100, 150, 80}}, {"pipe", []int{0, 1, 2}, []float64{5000, 5500, 5250}}},
			Failed: []string{"round 2: client: killed"}},
		{Of: "b", Series: []Series{{"cache line", []int{0}, []float64{300}}, {"pipe", []int{0}, []float64{9000}}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v\nwant %+v", got, want)
	}
	line, pipe := got[0].Series[0], got[0].Series[1]
	if !slices.Equal(line.Index(), []float64{1, 1.5, 0.8}) || line.Text() != "100 ns" || TimeText(98.54) != "98.5 ns" ||
		TimeText(999.6) != "1.00 µs" || TimeText(9.996) != "10.0 ns" || TimeText(47_122_771) != "47.1 ms" || pipe.Text() != "5.25 µs" {
		t.Errorf("%v, %s, %s", line.Index(), line.Text(), pipe.Text())
	}
	if got := line.Changed(1.35); got != "cache line: the machine changed under the run: 80.0 ns in round 3, 150 ns in round 2, 1.88 > 1.35" {
		t.Error(got)
	}
	if pipe.Changed(1.35) != "" || line.Changed(2) != "" || pipe.Changed(1.05) == "" {
		t.Errorf("%q %q %q", pipe.Changed(1.35), line.Changed(2), pipe.Changed(1.05))
	}
	if got := of(results.Sample{Outcome: results.OK}); got != nil {
		t.Errorf("of a run without: %v", got)
	}
	if got := of(samples[1]); len(got) != 1 || len(got[0].Series) != 0 || len(got[0].Failed) != 1 {
		t.Errorf("all failed: %+v", got)
	}
}

// Lines of other outcomes change no verdict and no figure, and disturbed samples stand in columns and notes of their own.
func TestDisturbedSamplesAndCalibrations(t *testing.T) {
	cell := results.Cell{Scenario: "ping-pong", Transport: "shm", Client: "go", Server: "go", Payload: 8}
	run := results.Run{Policy: results.DefaultPolicy(), Cells: []results.Cell{cell}}
	var plain, with []results.Sample
	sample := func(round, try int, ops int64, outcome string, i *results.Interference) results.Sample {
		return results.Sample{Cell: cell.Key(), Round: round, Try: try, Outcome: outcome, Interference: i,
			Measurement: &results.Measurement{WindowNs: 1e9, Ops: ops, Sent: ops, Received: ops}}
	}
	quiet := &results.Interference{SpanNs: 1e9, ShareNs: 2e9, ForeignNs: 2e7}
	loud := &results.Interference{SpanNs: 1e9, ShareNs: 2e9, StealNs: 1e8, ForeignNs: 5e8, Limit: 0.05, Disturbed: true}
	kept := *loud
	kept.Kept = true
	for round := range 5 {
		plain = append(plain, sample(round, 0, 1000, results.OK, nil))
		with = append(with, calibration("", round, 100, 5000))
		switch round {
		case 1:
			with = append(with, sample(round, 0, 10, results.Disturbed, loud), sample(round, 1, 1000, results.OK, quiet))
		case 4:
			with = append(with, sample(round, 0, 1000, results.OK, &kept))
		default:
			with = append(with, sample(round, 0, 1000, results.OK, quiet))
		}
	}
	want, err := rowsFrom(run, plain)
	if err != nil {
		t.Fatal(err)
	}
	got, err := rowsFrom(run, with)
	if err != nil {
		t.Fatal(err)
	}
	n := results.N
	want[0].StealPct, want[0].ForeignPct, want[0].Disturbed, want[0].DisturbedKept = n(1), n(100*(4*0.02+0.5)/10), n(1), n(1)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	notes, err := notesFrom(run, with)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, n := range notes {
		texts = append(texts, n.Kind+": "+n.Text+": "+n.Where())
	}
	if !slices.Equal(texts, []string{
		"disturbed: 1 disturbed (steal up to 5.0 %, other processes up to 25.0 % of the CPUs' time), measured again: samples.jsonl line 4 (round 1)",
		"disturbed: 1 disturbed (steal up to 5.0 %, other processes up to 25.0 % of the CPUs' time), not measured again, since the " +
			"run's budget for that was used up: samples.jsonl line 11 (round 4)",
	}) {
		t.Errorf("%q", texts)
	}
	// A rerun whose last round has only a disturbed sample is not whole: it does not decide yet.
	for round := range 5 {
		outcome := results.OK
		if round == 4 {
			outcome = results.Disturbed
		}
		s := sample(5+round, 0, 2000, outcome, loud)
		s.Attempt = 1
		with = append(with, s)
	}
	if got, err = rowsFrom(run, with); err != nil || got[0].Throughput != n(1000) {
		t.Errorf("a rerun that is not whole: %v %v", got[0].Throughput, err)
	}
}
