package stability

import (
	"testing"

	"msgbench/results"
	"msgbench/results/hist"
)

// throughputSample is one second at max with ops operations of 10 µs.
func sample(c results.Cell, round int, ops int64) results.Sample {
	h := hist.New()
	for range 100 {
		h.Record(10_000)
	}
	return results.Sample{
		Version: 1, Cell: c.Key(), Order: round, Round: round, Outcome: results.OK,
		Measurement: &results.Measurement{
			Loop: results.Closed, LatencyKind: results.RTT, WindowNs: 1e9, Ops: ops, Messages: ops, Latency: h,
			CPUNs: map[string]int64{"client": 5e8, "server": 4e8},
		},
	}
}

func TestSmoke(t *testing.T) {
	c := results.Cell{Scenario: "ping-pong", Transport: "shm", Client: "go", Server: "go", Payload: 64}
	run := results.Run{Policy: results.DefaultPolicy(), Cells: []results.Cell{c}}
	var s []results.Sample
	for i, v := range []int64{100, 101, 102, 103, 900} {
		s = append(s, sample(c, i, v))
	}
	rows, err := Rows(run, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", rows[0])
	notes, _ := Notes(run, s)
	t.Logf("%+v %s", notes, notes[0].Where())
	if rows[0].Verdict != results.Stable {
		t.Error(rows[0].Verdict)
	}
}
