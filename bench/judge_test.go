package bench

import (
	"fmt"
	"testing"

	"msgbench/results"
	"msgbench/results/hist"
)

func TestJudge(t *testing.T) {
	lateness := func(ns int64, n int) *hist.Hist {
		h := hist.New()
		for i := range n {
			v := int64(100)
			if i%50 == 0 { // two in a hundred, so that p99 sees them
				v = ns
			}
			h.Record(v)
		}
		return h
	}
	for _, c := range []struct {
		name    string
		rate    int
		m       results.Measurement
		outcome string
	}{
		{"steady", 0, results.Measurement{Thirds: []int64{100, 100, 100}}, results.OK},
		{"at the limit", 0, results.Measurement{Thirds: []int64{100, 120, 135}}, results.OK},
		{"beyond it", 0, results.Measurement{Thirds: []int64{100, 120, 136}}, results.Rejected},
		{"falling", 0, results.Measurement{Thirds: []int64{136, 120, 100}}, results.Rejected},
		{"nothing at first", 0, results.Measurement{Thirds: []int64{0, 50, 100}}, results.Rejected},
		{"a shorter last third of a count", 0, results.Measurement{Thirds: []int64{100, 100, 100}, ThirdsNs: []int64{9e6, 8e6, 6e6}}, results.Rejected},
		{"thirds of equal length", 0, results.Measurement{Thirds: []int64{100, 100, 100}, ThirdsNs: []int64{9e6, 8e6, 9e6}}, results.OK},
		{"few at a low rate", 10, results.Measurement{Thirds: []int64{1, 2, 3}}, results.OK},
		{"late by little", 10_000, results.Measurement{Lateness: lateness(90_000, 2000)}, results.OK},
		{"late", 10_000, results.Measurement{Lateness: lateness(110_000, 2000)}, results.Rejected},
		{"a tenth of a long interval", 100, results.Measurement{Lateness: lateness(900_000, 2000)}, results.OK},
		{"more than that", 100, results.Measurement{Lateness: lateness(1_100_000, 2000)}, results.Rejected},
		{"the latest of few", 100, results.Measurement{Lateness: lateness(1_100_000, 60)}, results.Rejected},
	} {
		s := results.Sample{Measurement: &c.m}
		judge(&s, results.Cell{Rate: c.rate}, results.DefaultPolicy())
		if s.Outcome != c.outcome || (s.Reason == "") != (c.outcome == results.OK) {
			t.Errorf("%s: %s %q, want %s", c.name, s.Outcome, s.Reason, c.outcome)
		}
	}
}

// How good a result is has no say in whether it counts.
func TestJudgeDoesNotLookAtTheResult(t *testing.T) {
	for _, ops := range []int64{1, 1000, 1e9} {
		h := hist.New()
		h.Record(1e9 / ops)
		s := results.Sample{Measurement: &results.Measurement{WindowNs: 1e9, Ops: ops, Latency: h, Thirds: []int64{10, 10, 10}}}
		judge(&s, results.Cell{}, results.DefaultPolicy())
		if s.Outcome != results.OK {
			t.Errorf("%d operations a second: %s", ops, fmt.Sprint(s.Outcome, s.Reason))
		}
	}
}
