package stability

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"msgbench/results"
)

// Which cells are measured again is the same whether it is found part by part or at once.
func TestFamilies(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		run := results.Run{Policy: results.DefaultPolicy()}
		run.Policy.Samples = 5
		var samples []results.Sample
		for i := range 6 {
			for _, rate := range []int{0, 1000, 5000} {
				if r.IntN(5) == 0 {
					continue
				}
				c := results.Cell{Scenario: "ping-pong", Transport: fmt.Sprint("t", i), Client: "go", Server: "go", Payload: 8, Rate: rate}
				run.Cells = append(run.Cells, c)
				top := 500 + r.Int64N(6000)
				for round := range r.IntN(7) {
					ops := top - r.Int64N(top/2)
					if rate > 0 {
						ops = min(ops, int64(rate))
					}
					samples = append(samples, results.Sample{Version: 1, Cell: c.Key(), Round: round, Outcome: results.OK,
						Measurement: &results.Measurement{WindowNs: 1e9, Ops: max(ops, 1)}})
				}
			}
		}
		r.Shuffle(len(run.Cells), func(i, j int) { run.Cells[i], run.Cells[j] = run.Cells[j], run.Cells[i] })
		want, err := Rerun(run, samples)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		cells := 0
		for _, part := range Families(run) {
			var own []results.Sample
			for _, s := range samples {
				if slices.ContainsFunc(part.Cells, func(c results.Cell) bool { return c.Key() == s.Cell }) {
					own = append(own, s)
				}
			}
			keys, err := Rerun(part, own)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, keys...)
			cells += len(part.Cells)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || cells != len(run.Cells) {
			t.Fatalf("%d of %d cells; in parts %v, at once %v", cells, len(run.Cells), got, want)
		}
	}
	run := results.Run{Cells: []results.Cell{{Transport: "a"}, {Transport: "b"}}}
	if n := len(Families(run)); n != 2 {
		t.Errorf("%d parts", n)
	}
	run.Policy.Precision = 0.03
	if n := len(Families(run)); n != 1 {
		t.Errorf("with precision: %d parts", n)
	}
}
