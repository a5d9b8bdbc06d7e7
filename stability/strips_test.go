package stability

import (
	"testing"

	"msgbench/results"
)

func TestStrips(t *testing.T) {
	run := runOf(atMax, at100)
	// The rerun decides for the first cell: its five samples make the row, and the core leaves out one at each end.
	first := tens(atMax, 100, 200, 300, 400, 500)
	second := again(1, tens(atMax, 1000, 1010, 1020, 990, 1500))
	samples := flatten([][]results.Sample{first, second, timed(at100, 10_000, 11_000, 12_000, 13_000, 10_500)})
	judged, err := Judge(run, journal(samples))
	if err != nil {
		t.Fatal(err)
	}
	strips := collect(judged, func(j Judged) []Strip { return []Strip{j.Strip} })
	if len(strips) != 2 || strips[0].Cell != atMax.Key() || strips[0].Metric != "throughput" || strips[1].Metric != "p50" {
		t.Fatalf("%+v", strips)
	}
	core := map[float64]bool{}
	for _, p := range strips[0].Points {
		if p.Aside != (p.Value < 900) {
			t.Errorf("aside: %+v", p)
		}
		if p.Core {
			core[p.Value] = true
		}
	}
	if len(strips[0].Points) != 10 || len(core) != 3 || !core[1000] || !core[1010] || !core[1020] {
		t.Errorf("points %+v", strips[0].Points)
	}
	if v := strips[1].Points[0].Value; v < 9.9 || v > 10.1 {
		t.Errorf("p50 of the first sample is %v µs, want 10", v)
	}
	if q := strips[1].Tail; len(q) == 0 || q[0].Q != 0.5 || q[0].Us < 19.9 || q[len(q)-1].Q != 0.95 {
		t.Errorf("tail %v: want p50 to p95 of 500 response times", q)
	}
}
