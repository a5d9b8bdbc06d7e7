package report

import (
	"fmt"
	"slices"
	"strings"

	"msgbench/results"
	"msgbench/stability"
)

// Comparison sets transports side by side as comparison pages do, and keeps apart what such pages mix: a winner is bold
// only among rows of one machine, payload, loop, kind of latency and percentile, and only where the intervals allow it.
func Comparison(d Document) string {
	var b strings.Builder
	b.WriteString("# Transports compared\n\n## Scope\n\n")
	scope(&b, d)
	b.WriteString("## Measurement methodology\n\n")
	methodology(&b, d)
	inside(&b, d)
	b.WriteString("## Message sizes\n\n")
	messageSizes(&b, d.Rows)
	refs := newReferences(d.References)
	all := groups(d.Rows)
	b.WriteString("## Latency and throughput by payload\n\n" + boldRule + "\n\n")
	for _, g := range all {
		g.comparison(&b, refs)
	}
	b.WriteString("## Win/lose summary\n\n")
	winLose(&b, all)
	b.WriteString("## Payload sensitivity\n\n")
	sensitivity(&b, d.Rows)
	b.WriteString("## Reliability at maximum rate\n\n")
	reliability(&b, all, onMachine(d.Rows))
	b.WriteString("## Throughput\n\n")
	throughputs(&b, all, onMachine(d.Rows))
	b.WriteString("## Claims that the data supports\n\n")
	claims(&b, all, d)
	notes(&b, d)
	refs.unused(&b)
	return b.String()
}

const boldRule = `All values in µs unless another unit stands there. Bold: the best of its column, among rows that are publishable, where its
interval overlaps with none of theirs (of min: the minima of the samples; mean and p95 have none and go by that of p50). Rows
marked ~ are unstable, imported rows were measured elsewhere, and oversubscribed ones did not reach the rate that the others had:
none of them can win.`

func scope(b *strings.Builder, d Document) {
	machines := map[string]bool{}
	transports := map[string]bool{}
	for i := range d.Rows {
		machines[d.Rows[i].Machine] = true
		transports[d.Rows[i].Transport] = true
	}
	whereRan := "All processes of a cell ran on that machine; no figure is from a real network."
	if d.Fact("hosts") != "" {
		whereRan = "The client ran on one host, the others on another: the figures hold for the network between them too."
	}
	fmt.Fprintf(b, "%s, %s, on %s. %s\n\n",
		plural(len(d.Rows), "row"), plural(len(transports), "transport"), plural(len(machines), "machine"), whereRan)
	facts(b, d)
	summary(b, d.Rows)
}

// metric is a column that can be won.
type metric struct {
	name   string
	of     func(*results.Row) results.Num
	lo, hi func(*results.Row) results.Num // nil: no interval
	higher bool                           // is better
	text   func(results.Num) string
	// of one sample, where its samples tell
	sample func(*stability.Figures) float64
}

func micros2(n results.Num) string { return exact(n, 2) }

var (
	throughputMetric = metric{
		name: "throughput", higher: true, text: count, sample: func(f *stability.Figures) float64 { return f.Speed },
		of: func(r *results.Row) results.Num { v, _, _ := r.Speed(); return v },
		lo: func(r *results.Row) results.Num { _, lo, _ := r.Speed(); return lo },
		hi: func(r *results.Row) results.Num { _, _, hi := r.Speed(); return hi },
	}
	p50Metric = metric{
		name: "p50", text: micros2, sample: func(f *stability.Figures) float64 { return f.P50 },
		of: func(r *results.Row) results.Num { return r.P50Us },
		lo: func(r *results.Row) results.Num { return r.P50Lo }, hi: func(r *results.Row) results.Num { return r.P50Hi },
	}
	p99Metric = metric{
		name: "p99", text: micros2, sample: func(f *stability.Figures) float64 { return f.P99 },
		of: func(r *results.Row) results.Num { return r.P99Us },
		lo: func(r *results.Row) results.Num { return r.P99Lo }, hi: func(r *results.Row) results.Num { return r.P99Hi },
	}
	latencyMetrics = []metric{
		{
			name: "min", text: micros2,
			of: func(r *results.Row) results.Num { return r.MinUs },
			lo: func(r *results.Row) results.Num { return r.MinLo }, hi: func(r *results.Row) results.Num { return r.MinHi },
		},
		{name: "mean", text: micros2, of: func(r *results.Row) results.Num { return r.MeanUs }},
		p50Metric,
		{name: "p95", text: micros2, of: func(r *results.Row) results.Num { return r.P95Us }},
		p99Metric,
	}
)

// speed is the metric that decides at max: of a broadcast what was delivered.
func (g group) speed() metric {
	m := throughputMetric
	if len(g.rows) > 0 && g.rows[0].Scenario == "broadcast" {
		m.name = "delivery rate"
	}
	return m
}

// metrics are the columns of a group that can be won: at a fixed rate throughput only repeats the target.
func (g group) metrics() []metric {
	if g.rate == "max" {
		return append(slices.Clone(latencyMetrics), g.speed())
	}
	return latencyMetrics
}

// duel is the best row of a metric and the next best.
type duel struct {
	best, second *results.Row
	others       []*results.Row // all that the best one has to beat, the second among them
	clear        bool           // the interval of the best overlaps with that of no other
}

// win finds the best publishable row of a group; ok is false where fewer than two have the figure.
func (g group) win(m metric) (d duel, ok bool) {
	better := func(a, b *results.Row) bool {
		x, y := m.of(a).Or(0), m.of(b).Or(0)
		return m.higher && x > y || !m.higher && x < y
	}
	for _, r := range g.rows {
		switch {
		case !mayWin(r.Row) || !m.of(r.Row).OK():
		case d.best == nil || better(r.Row, d.best):
			if d.best != nil {
				d.others = append(d.others, d.best)
			}
			d.best, d.second = r.Row, d.best
		default:
			d.others = append(d.others, r.Row)
			if d.second == nil || better(r.Row, d.second) {
				d.second = r.Row
			}
		}
	}
	if d.second == nil {
		return d, false
	}
	d.clear = !slices.ContainsFunc(d.others, func(r *results.Row) bool { return !better(d.best, r) || !apart(m, d.best, r) })
	return d, true
}

// mayWin tells rows that can be set against others. At a fixed rate an oversubscribed row had another rate than the others, and its
// response time grows with the length of the window.
func mayWin(r *results.Row) bool {
	return results.Publishable(r.Verdict) && (r.TargetRPS == "max" || r.Verdict != results.Oversubscribed)
}

// apart tells whether the intervals of a better and a worse row do not overlap.
func apart(m metric, best, second *results.Row) bool {
	if m.lo == nil {
		m = p50Metric
	}
	inner, outer := m.hi(best), m.lo(second) // the ends that face each other
	if m.higher {
		inner, outer = m.hi(second), m.lo(best)
	}
	return inner.OK() && outer.OK() && inner.Or(0) < outer.Or(0)
}

func (g group) comparison(b *strings.Builder, refs *references) {
	fmt.Fprintf(b, "### %s\n\n", cell(g.title))
	metrics := append(slices.Clone(latencyMetrics), g.speed())
	winners := map[string]*results.Row{}
	for _, m := range g.metrics() {
		if d, ok := g.win(m); ok && d.clear {
			winners[m.name] = d.best
		}
	}
	head := []string{"Transport", "Verdict"}
	for _, m := range metrics {
		head = append(head, m.name)
	}
	svc := slices.ContainsFunc(g.rows, func(r ranked) bool { return r.Latency == results.Response })
	if svc {
		head = append(head, "service p50", "service p99")
	}
	with := refs.any(g.plain())
	if with {
		head = append(head, refHead...)
	}
	tableHead(b, head, 2)
	c := make([]string, 0, len(head))
	for _, r := range g.rows {
		c = append(c[:0], pairMark(r.Row)+cell(who(r.Row)), cell(r.Verdict))
		for _, m := range metrics {
			v := m.text(m.of(r.Row))
			if winners[m.name] == r.Row {
				v = "**" + v + "**"
			}
			c = append(c, v)
		}
		if svc {
			c = append(c, micros2(r.SvcP50Us), micros2(r.SvcP99Us))
		}
		if with {
			c = append(c, refs.cells(r.Row)...)
		}
		safeLine(b, c)
	}
	b.WriteString("\n")
}
