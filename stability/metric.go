package stability

import (
	"math"
	"slices"

	"msgbench/results"
	"msgbench/results/hist"
)

// byMessages tells whether the target rate of a scenario paces messages rather than operations: throughput counts the
// items of batches, but the schedule sends batches.
func byMessages(scenario string) bool { return scenario == "batch" || scenario == "pipeline-batch" }

// delivered are the rates of samples in the unit of the target rate.
func delivered(c results.Cell, samples []*placed) []float64 {
	if byMessages(c.Scenario) {
		return each(samples, func(s *placed) float64 { return s.messages })
	}
	return throughputs(samples)
}

// each applies f to every sample.
func each[T any](samples []T, f func(T) float64) []float64 {
	v := make([]float64, len(samples))
	for i, s := range samples {
		v[i] = f(s)
	}
	return v
}

func throughputs(samples []*placed) []float64 {
	return each(samples, func(s *placed) float64 { return s.throughput })
}

func p50s(samples []*placed) []float64 {
	return each(samples, func(s *placed) float64 { return s.p50 })
}

func isTimed(s *placed) bool { return s.timed }

// serviceHist is what the median service time is read from: at a fixed rate the service time, else the main latency,
// which is the service time of a closed loop.
func serviceHist(m *results.Measurement) *hist.Hist {
	if m.Service != nil && m.Service.Count() > 0 {
		return m.Service
	}
	return m.Latency
}

// metric is the stability metric, one value a sample (rule 2): p50 of the service time in ns at a fixed rate, where
// throughput only repeats the target; else, and where a scenario has no latency at all, operations per second. A sample
// with too few observations for a p50 counts as NaN.
func metric(c results.Cell, samples []*placed) (values []float64, name string) {
	if c.Rate == 0 || !slices.ContainsFunc(samples, isTimed) {
		return throughputs(samples), "throughput"
	}
	return p50s(samples), "p50"
}

// quantile in ns; NaN where the histogram does not show it.
func quantile(h *hist.Hist, q float64) float64 {
	if h == nil {
		return math.NaN()
	}
	ns, ok := h.Quantile(q)
	if !ok {
		return math.NaN()
	}
	return float64(ns)
}
