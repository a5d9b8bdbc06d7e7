package stability

import (
	"msgbench/results"
	"msgbench/results/hist"
)

// pool holds the valid samples of one attempt of a cell while the cell is read: without their histograms, which are merged.
type pool struct {
	samples                    []sample
	latency, service, lateness merged
}

// sample is a valid sample without its histograms. What intervals take of them stands beside it, in ns.
type sample struct {
	results.Sample
	minNs, p50, p99 float64
}

// merged is the sum of one histogram of every sample.
type merged struct {
	sum     *hist.Hist
	lacking bool
}

func (m *merged) add(h *hist.Hist) {
	if h.Count() == 0 {
		m.lacking = true
		return
	}
	m.sum.Merge(h)
}

// all is nil where a sample lacks the histogram: part of the samples would pass for all.
func (m *merged) all() *hist.Hist {
	if m.lacking {
		return nil
	}
	return m.sum
}

// pool gives an empty pool. Its histograms are used again for the next one, since each takes 220 KB.
func (a *aggregator) pool() *pool {
	p := &pool{}
	for _, m := range p.merged() {
		if n := len(a.spare); n > 0 {
			m.sum, a.spare = a.spare[n-1], a.spare[:n-1]
			m.sum.Reset()
		} else {
			m.sum = hist.New()
		}
	}
	return p
}

func (p *pool) merged() []*merged { return []*merged{&p.latency, &p.service, &p.lateness} }

func (a *aggregator) done(p *pool) {
	for _, m := range p.merged() {
		a.spare = append(a.spare, m.sum)
	}
}

// add takes in a valid sample.
func (p *pool) add(s *results.Sample) {
	p.latency.add(s.Measurement.Latency)
	p.service.add(s.Measurement.Service)
	p.lateness.add(s.Measurement.Lateness)
	p.samples = append(p.samples, withoutHistograms(s))
}

func withoutHistograms(s *results.Sample) sample {
	m := *s.Measurement
	x := sample{Sample: *s, p50: quantile(m.Latency, 0.5), p99: quantile(m.Latency, 0.99)}
	if m.Latency != nil {
		ns, _ := m.Latency.Min()
		x.minNs = float64(ns)
	}
	m.Latency, m.Service, m.Lateness = nil, nil, nil
	x.Measurement = &m
	return x
}

// of applies f to the measurement of every sample.
func of(samples []sample, f func(*results.Measurement) float64) []float64 {
	return each(samples, func(s sample) float64 { return f(s.Measurement) })
}
