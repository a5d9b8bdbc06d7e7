package charts

import (
	"math"
	"slices"

	"msgbench/results"
	"msgbench/stability"
)

// selection makes the charts of one facet. Each of its methods gets rows that may stand in one chart, best first, and
// adds it where there is something to see.
type selection struct {
	facet  Facet
	strips map[string]*stability.Strip
	styles map[string]int
	names  map[string]int
	where  bool // several machines or sources: say which
	out    []Chart
}

func (s *selection) series(r item, pts ...sample) series {
	for i := range pts {
		pts[i].unstable = r.Verdict == results.Unstable
	}
	return series{marked(r.Row, r.line), s.styles[r.line], r.Verdict == results.Unstable, pts}
}

// throughput at max; at a fixed rate it only repeats the target.
func (s *selection) throughput(rows []item) {
	b := bars{title: "Throughput", note: s.note(speedNote(rows[0]), payloadNote(rows[0]), subscribersNote(rows[0]), rateNote(rows[0])), label: amount}
	for _, r := range rows {
		speed, lo, hi := r.Speed()
		if v, ok := speed.Value(); ok && v > 0 && rate(r.Row) == 1e18 {
			b.rows = append(b.rows, s.series(r, sample{y: v, lo: lo.Or(0), hi: hi.Or(0)}))
		}
	}
	if len(b.rows) > 1 {
		s.add(Throughput, b.title, b.note, b.draw)
	}
}

// speedNote says what throughput counts.
func speedNote(r item) string {
	if r.Scenario == "broadcast" {
		return "messages delivered per second"
	}
	return "per second"
}

// tail is latency by percentile.
func (s *selection) tail(rows []item) {
	l := lines{title: "Latency by percentile", note: s.note(s.facet.latency(), payloadNote(rows[0]), subscribersNote(rows[0]), rateNote(rows[0])),
		xName: "percentile: each nine takes the same room", xLabel: percentile, yLabel: duration}
	shares := []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999}
	most := 0.0
	for _, r := range rows {
		var pts []sample
		for _, q := range s.quantiles(r) {
			if q.Us > 0 {
				pts = append(pts, sample{x: q.Q, y: q.Us})
				most = max(most, q.Q)
			}
		}
		if len(pts) > 1 {
			l.series = append(l.series, s.series(r, pts...))
		}
	}
	if len(l.series) == 0 {
		return
	}
	l.x = valueAxis(slices.DeleteFunc(shares, func(q float64) bool { return q > most }), tailOf, percentile)
	l.x.hi = tailOf(most)
	s.add(Tail, l.title, l.note, l.draw)
}

// quantiles are those of the journal, which go further, or those of the row.
func (s *selection) quantiles(r item) []stability.Quantile {
	if t := s.strips[r.Cell]; t != nil && len(t.Tail) > 0 && r.P50Us.OK() {
		return t.Tail
	}
	var list []stability.Quantile
	for _, q := range []struct {
		q float64
		v results.Num
	}{{0.5, r.P50Us}, {0.9, r.P90Us}, {0.95, r.P95Us}, {0.99, r.P99Us}, {0.999, r.P999Us}} {
		if v, ok := q.v.Value(); ok {
			list = append(list, stability.Quantile{Q: q.q, Us: v})
		}
	}
	return list
}

func (s *selection) byPayload(rows []item) {
	size := func(r item) (float64, bool) { return r.Payload.Value() }
	s.median(ByPayload, "Latency by payload", rateNote(rows[0]), "payload", rows, size, octaves, payload)
}

// byRate leaves out max: its latency is not a response time.
func (s *selection) byRate(rows []item) {
	target := func(r item) (float64, bool) { return rate(r.Row), rate(r.Row) < 1e18 }
	s.median(ByRate, "Latency by rate", payloadNote(rows[0]), "target, per second", rows, target, math.Log10, amount)
}

// median draws p50 over x, with a line for each name that has two points at least.
func (s *selection) median(k Kind, title, what, xName string, rows []item, x func(item) (float64, bool),
	space func(float64) float64, label func(float64) string) {
	l := lines{title: title, note: s.note("p50 of the "+s.facet.latency(), what), xName: xName, xLabel: label, yLabel: duration}
	var xs []float64
	for _, g := range groups(rows, func(r item) string { return r.line }) {
		line := series{name: g[0].line, style: s.styles[g[0].line]}
		taken := map[float64]bool{}
		for _, r := range g {
			at, ok := x(r)
			v, told := r.P50Us.Value()
			// Of two rows in one place (of two runs, say) the better verdict stands.
			if !ok || !told || v <= 0 || taken[at] {
				continue
			}
			taken[at] = true
			line.pts = append(line.pts, sample{at, v, r.P50Lo.Or(0), r.P50Hi.Or(0), r.Verdict == results.Unstable})
			line.unstable = line.unstable || r.Verdict == results.Unstable
		}
		if len(line.pts) < 2 {
			continue
		}
		if line.unstable {
			line.name = "~ " + line.name
		}
		slices.SortFunc(line.pts, func(a, b sample) int { return int(math.Copysign(1, a.x-b.x)) })
		for _, p := range line.pts {
			xs = append(xs, p.x)
		}
		l.series = append(l.series, line)
	}
	if len(l.series) == 0 {
		return
	}
	l.x = valueAxis(xs, space, label)
	s.add(k, l.title, l.note, l.draw)
}

// pairs is the heat map of clients and servers.
func (s *selection) pairs(rows []item) {
	if len(rows) < 3 {
		return
	}
	r := rows[0]
	h := heat{title: "Client × server", cells: map[[2]string]heatCell{}, more: rate(r.Row) == 1e18, label: duration}
	what := "p50 of the " + s.facet.latency()
	if h.more {
		what, h.label = speedNote(r), amount
	}
	h.note = s.note(r.Transport, r.dims, payloadNote(r), rateNote(r), what)
	for _, r := range rows {
		value := r.P50Us
		if h.more {
			value, _, _ = r.Speed()
		}
		v, ok := value.Value()
		if !ok || v <= 0 {
			continue
		}
		if _, twice := h.cells[[2]string{r.Client, r.Server}]; twice {
			continue
		}
		h.cells[[2]string{r.Client, r.Server}] = heatCell{v, r.Verdict == results.Unstable}
		h.clients, h.servers = append(h.clients, r.Client), append(h.servers, r.Server)
	}
	for _, names := range []*[]string{&h.clients, &h.servers} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	if len(h.cells) > 2 && len(h.clients) > 1 && len(h.servers) > 1 {
		s.add(Pairs, h.title, h.note, h.draw)
	}
}

// samples over time, where cells have more than one.
func (s *selection) samples(rows []item) {
	c := strips{title: "Samples over time"}
	metric := ""
	for _, r := range rows {
		strip := s.strips[r.Cell]
		if strip == nil {
			continue
		}
		l := lane{s.series(r), *strip}
		if len(l.Points) > 1 && l.middle() > 0 {
			c.lanes = append(c.lanes, l)
			metric = l.Metric
		}
	}
	if len(c.lanes) == 0 {
		return
	}
	what := "throughput"
	if metric == "p50" {
		what = "p50 of the service time"
	}
	c.note = s.note(what, payloadNote(rows[0]), subscribersNote(rows[0]), rateNote(rows[0]))
	s.add(Samples, c.title, c.note, c.draw)
}
