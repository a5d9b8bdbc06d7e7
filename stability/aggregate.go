package stability

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"msgbench/results"
	"msgbench/results/hist"
)

// aggregator makes rows.
type aggregator struct {
	run     results.Run
	columns []string // of the figures of each sample
	spare   []*hist.Hist
}

// joint is what the valid samples of one attempt come to, whatever the verdict.
type joint struct {
	row  results.Row
	tail []Quantile
}

// join makes of the valid samples of an attempt what is kept of them.
func (a *aggregator) join(g *cellSamples, p *pool) *joint {
	slices.SortFunc(p.samples, func(x, y sample) int { return cmp.Or(cmp.Compare(x.Round, y.Round), cmp.Compare(x.Try, y.Try)) })
	j := &joint{row: a.valid(g, p), tail: tailOf(p.latency.all())}
	a.done(p)
	return j
}

// head is what a row tells of its cell.
func (a *aggregator) head(g *cellSamples) results.Row {
	c := g.cell
	row := results.Row{
		Cell: g.key, Scenario: c.Scenario, Transport: c.Transport, Client: c.Client, Server: c.Server,
		Loop: results.Closed, TargetRPS: results.RateString(c.Rate),
		Wait: c.Dim("wait"), Mode: c.Dim("mode"), Depth: c.Dim("depth"), Subscribers: c.Dim("subscribers"), Scope: c.Dim("scope"),
		Pin: c.Dim("pin"), Machine: a.run.MachineOf(g.key), Source: "measured",
	}
	if c.Payload != results.NoPayload {
		row.Payload = results.N(float64(c.Payload))
	}
	if c.Rate != 0 {
		row.Loop = results.Paced
	}
	if row.Pin == "" {
		row.Pin = a.run.Pin
	}
	return row
}

// valid fills the columns that the valid samples of one attempt tell, at least one.
func (a *aggregator) valid(g *cellSamples, p *pool) results.Row {
	row := a.head(g)
	words(&row, p.samples)
	a.rates(&row, p.samples)
	a.latencies(&row, p)
	cpu(&row, g.cell, p.samples)
	counters(&row, p.samples)
	sizes(&row, p.samples)
	streams(&row, p.samples)
	disturbances(&row, p.samples)
	return row
}

// row is the row of one cell.
func (a *aggregator) row(j *judged) results.Row {
	row := a.head(&j.cellSamples)
	measured := len(j.valid) > 0 && j.verdict != results.Failed && j.verdict != results.Skipped
	if measured {
		row = j.attempt.joint.row
	}
	row.Verdict, row.Reason, row.Samples = j.verdict, j.reason, results.N(float64(len(j.valid)))
	if !measured {
		return row
	}
	ceilings(&row, j.steps)
	if row.StealPct.OK() {
		again := 0
		for _, at := range j.attempts {
			again += len(at.of(results.Disturbed))
		}
		row.Disturbed = results.N(float64(again))
	}
	row.CoreSamples = results.N(float64(j.core.n))
	row.CoreRatio, row.RawRatio = results.N(j.core.ratio), results.N(j.core.rawRatio)
	rounds := make([]int, len(j.valid))
	for i, s := range j.valid {
		rounds[i] = s.round
	}
	row.DriftPct, row.Trend = results.N(drift(rounds, j.metric)), j.trend
	return row
}

// words fills the columns that samples tell in words.
func words(row *results.Row, samples []sample) {
	text := func(f func(sample) string) string {
		v := make([]string, len(samples))
		for i, s := range samples {
			v[i] = f(s)
		}
		return joined(v)
	}
	set := func(field *string, v string) {
		if v != "" {
			*field = v
		}
	}
	set(&row.Loop, text(func(s sample) string { return s.Measurement.Loop }))
	for _, s := range samples {
		if ns := s.Measurement.ClockErrorNs; ns > 0 {
			row.LatencyError = results.N(max(row.LatencyError.Or(0), float64(ns)/1e3))
		}
	}
	row.Latency = text(func(s sample) string { return s.Measurement.LatencyKind })
	row.CPURelation = text(func(s sample) string { return s.Relation })
	set(&row.Wait, text(func(s sample) string { return s.Measurement.Facts["wait"] }))
	set(&row.Depth, text(func(s sample) string { return s.Measurement.Facts["depth"] }))

	names := map[string]bool{}
	for _, s := range samples {
		for n := range s.Measurement.Facts {
			names[n] = n != "wait" && n != "depth"
		}
	}
	var options []string
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if v := text(func(s sample) string { return s.Measurement.Facts[n] }); names[n] && v != "" {
			options = append(options, option(n)+"="+option(v))
		}
	}
	row.Options = strings.Join(options, ";")
}

// option keeps a name or value of the options column from ending it.
func option(s string) string { return strings.ReplaceAll(oneLine(s), ";", ",") }

// rates fills the columns per second: medians over the samples, and the interval of the throughput.
func (a *aggregator) rates(row *results.Row, samples []sample) {
	t := of(samples, (*results.Measurement).Throughput)
	row.Throughput = results.N(median(t))
	row.ThroughputLo, row.ThroughputHi = a.interval(t, 1)
	row.MessagesPerS = results.N(median(of(samples, (*results.Measurement).MessagesPerSecond)))
	row.MBPerS = results.N(median(of(samples, (*results.Measurement).MBPerSecond)))
}

// interval is that of a median for two columns, values divided by unit.
func (a *aggregator) interval(values []float64, unit float64) (lo, hi results.Num) {
	l, h, _, ok := Interval(values)
	if a.run.Policy.Precision > 0 {
		l, h, ok = lookInterval(values)
	}
	if !ok {
		return results.Num{}, results.Num{}
	}
	return results.N(l / unit), results.N(h / unit)
}

// latencies fills the latency columns: percentiles of the merged histograms, never means of percentiles; the intervals are
// those over the samples' own percentiles.
func (a *aggregator) latencies(row *results.Row, p *pool) {
	if h := p.latency.all(); h != nil {
		lo, ok := h.Min()
		row.MinUs = results.Us(lo, ok)
		minima := each(p.samples, func(s sample) float64 { return s.minNs })
		row.MinLo, row.MinHi = results.N(slices.Min(minima)/1e3), results.N(slices.Max(minima)/1e3)
		hi, ok := h.Max()
		row.MaxUs = results.Us(hi, ok)
		if mean, ok := h.Mean(); ok {
			row.MeanUs = results.N(mean / 1e3)
		}
		row.P50Us, row.P90Us, row.P95Us = us(h, 0.5), us(h, 0.9), us(h, 0.95)
		row.P99Us, row.P999Us = us(h, 0.99), us(h, 0.999)
		row.P50Lo, row.P50Hi = a.interval(each(p.samples, func(s sample) float64 { return s.p50 }), 1e3)
		row.P99Lo, row.P99Hi = a.interval(each(p.samples, func(s sample) float64 { return s.p99 }), 1e3)
	}
	if h := p.service.all(); h != nil {
		row.SvcP50Us, row.SvcP95Us, row.SvcP99Us = us(h, 0.5), us(h, 0.95), us(h, 0.99)
	}
	if h := p.lateness.all(); h != nil {
		row.LateP99 = us(h, 0.99)
	}
}

func us(h *hist.Hist, q float64) results.Num {
	ns, ok := h.Quantile(q)
	return results.Us(ns, ok)
}

// counters fills the message counters: sums over the samples.
func counters(row *results.Row, samples []sample) {
	for _, c := range []struct {
		field *results.Num
		of    func(*results.Measurement) int64
	}{
		{&row.Sent, func(m *results.Measurement) int64 { return m.Sent }},
		{&row.Received, func(m *results.Measurement) int64 { return m.Received }},
		{&row.Lost, func(m *results.Measurement) int64 { return m.Lost }},
		{&row.Duplicated, func(m *results.Measurement) int64 { return m.Duplicated }},
		{&row.Reordered, func(m *results.Measurement) int64 { return m.Reordered }},
	} {
		var sum int64
		for _, s := range samples {
			sum += c.of(s.Measurement)
		}
		*c.field = results.N(float64(sum))
	}
}

// sizes fills hops, bytes on the wire and memory: medians over the samples that tell them (0 is "not told").
func sizes(row *results.Row, samples []sample) {
	told := func(f func(*results.Measurement) int64) results.Num {
		v := slices.DeleteFunc(of(samples, func(m *results.Measurement) float64 { return float64(f(m)) }),
			func(v float64) bool { return v <= 0 })
		return results.N(math.Round(median(v)))
	}
	row.Hops = told(func(m *results.Measurement) int64 { return int64(m.Hops) })
	row.RequestBytes = told(func(m *results.Measurement) int64 { return m.RequestBytes })
	row.ResponseBytes = told(func(m *results.Measurement) int64 { return m.ResponseBytes })
	row.RSSBytes = told(receiverRSS)
}

// receiverRSS is the memory of the role that receives: all subscribers together, the server, or the only process.
func receiverRSS(m *results.Measurement) int64 {
	var server, client int64
	for role, v := range m.RSS {
		switch cpuColumn(role) {
		case 0:
			client = max(client, v)
		case 1:
			server = max(server, v)
		}
	}
	if server > 0 {
		return server
	}
	return client
}
