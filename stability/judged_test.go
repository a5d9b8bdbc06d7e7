package stability

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"msgbench/results"
)

func TestJudge(t *testing.T) {
	run := runOf(atMax, at100)
	// The first attempt is loose, so the second one decides; a sample of it was rejected.
	first := tens(atMax, 1000, 2000, 4000, 8000, 16_000)
	second := again(1, append(tens(atMax, 1000, 1001, 1002, 1003, 1004), measured(atMax, 5, 9999, 10_000)))
	second[5].Outcome, second[5].Reason = results.Rejected, "ramp"
	samples := append(first, second...)
	judged, err := Judge(run, journal(samples), "throughput", "p50_us", "throughput_lo", "cpu_ns_per_op")
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, run, samples)
	for i, j := range judged {
		if !reflect.DeepEqual(j.Row, rows[i]) || j.Cell.Key() != run.Cells[i].Key() {
			t.Errorf("%+v\nwant %+v", j.Row, rows[i])
		}
	}
	if n := len(judged[0].Samples); n != 5 || len(judged[1].Samples) != 0 {
		t.Fatalf("%d and %d samples, want 5 of the second attempt and none", n, len(judged[1].Samples))
	}
	for i, f := range judged[0].Samples {
		ops := float64(1000 + i)
		if f.Ops != int64(ops) || f.Throughput != ops || f.P50/1e3 != rows[0].P50Us.Or(0) || !math.IsNaN(f.Service) || f.Round != 100+i {
			t.Errorf("sample %d: %+v, want %v operations per second", i, f, ops)
		}
		want := []results.Num{results.N(ops), rows[0].P50Us, {}, results.N(750e6 / ops)}
		if !slices.Equal(f.Columns, want) {
			t.Errorf("sample %d: %v, want %v", i, f.Columns, want)
		}
	}
	if _, err := Judge(run, journal(tens(results.Cell{Scenario: "x"}, 1))); err == nil {
		t.Error("a sample of another run")
	}
}
