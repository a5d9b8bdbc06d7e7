package stability

import (
	"math"
	"testing"

	"msgbench/results"
	"msgbench/results/hist"
)

func TestOutlook(t *testing.T) {
	p := results.DefaultPolicy()
	p.Samples = 5
	latency := func(ns int64) *hist.Hist {
		h := hist.New()
		for range 30 {
			h.Record(ns)
		}
		return h
	}
	for name, c := range map[string]struct {
		rate  int
		ops   []int64 // in a second
		p50   []int64
		word  string
		ratio float64
	}{
		"none":                      {0, nil, nil, TooFew, math.NaN()},
		"two":                       {0, []int64{100, 100}, nil, TooFew, math.NaN()},
		"three":                     {0, []int64{100, 110, 120}, nil, Holds, 1.2},
		"three apart":               {0, []int64{100, 110, 200}, nil, Loose, 2},
		"five, one far":             {0, []int64{100, 110, 120, 100, 900}, nil, Holds, 1.2},
		"steady p50":                {100, []int64{100, 100, 100}, []int64{500, 550, 600}, Holds, 1.2},
		"p50 apart":                 {100, []int64{100, 100, 100}, []int64{500, 550, 1000}, Loose, 2},
		"p50 steady, rate not kept": {100, []int64{90, 90, 100}, []int64{500, 550, 600}, Behind, 1.2},
	} {
		cell := results.Cell{Scenario: "ping-pong", Rate: c.rate}
		var o Outlook
		for i, ops := range c.ops {
			m := &results.Measurement{Ops: ops, WindowNs: 1e9}
			if c.p50 != nil {
				m.Service = latency(c.p50[i])
			}
			o.Add(cell, m)
		}
		word, ratio := o.Word(p, cell)
		if word != c.word || math.Abs(ratio-c.ratio) > 0.002 || math.IsNaN(ratio) != math.IsNaN(c.ratio) || o.Samples() != len(c.ops) {
			t.Errorf("%s: %s %.3f of %d samples, want %s %.3f", name, word, ratio, o.Samples(), c.word, c.ratio)
		}
	}
}
