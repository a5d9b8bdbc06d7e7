package report

import (
	"cmp"
	"slices"
	"strings"

	"msgbench/results"
)

// winLose has a line for each group in which two rows can be compared.
func winLose(b *strings.Builder, all []group) {
	head := []string{"Rows"}
	for _, m := range append(slices.Clone(latencyMetrics), throughputMetric) {
		head = append(head, m.name)
	}
	var lines [][]string
	broadcast := false
	for _, g := range all {
		c := []string{cell(g.title)}
		some := false
		for _, m := range g.metrics() {
			d, ok := g.win(m)
			if !ok {
				c = append(c, "–")
				continue
			}
			some = true
			c = append(c, verdictOf(m, d))
			broadcast = broadcast || m.name != throughputMetric.name && m.name == g.speed().name
		}
		for len(c) < len(head) { // throughput at a fixed rate
			c = append(c, "–")
		}
		if some {
			lines = append(lines, c)
		}
	}
	if len(lines) == 0 {
		b.WriteString("No two publishable rows stand in one table.\n\n")
		return
	}
	markdownTable(b, head, len(head), lines)
	b.WriteString("Difference to the second, which is named. Tie: the interval of the first overlaps with that of another, or there are none.\n")
	if broadcast {
		b.WriteString("Throughput of a broadcast is what was delivered.\n")
	}
	b.WriteString("\n")
}

// verdictOf is "shm −1.20 µs (−30 %) vs uds", or a tie.
func verdictOf(m metric, d duel) string {
	best, second := m.of(d.best).Or(0), m.of(d.second).Or(0)
	if !d.clear {
		return "tie: " + cell(who(d.best)) + ", " + cell(who(d.second))
	}
	unit := " µs"
	if m.higher {
		unit = "/s"
	}
	return cell(who(d.best)) + " " + signed(best-second, m.text) + unit + " (" + share(best, second) + ") vs " + cell(who(d.second))
}

func signed(v float64, text func(results.Num) string) string {
	if v < 0 {
		return "−" + text(results.N(-v))
	}
	return "+" + text(results.N(v))
}

// share is the difference of a to b in per cent of b.
func share(a, b float64) string {
	if b == 0 {
		return "–"
	}
	v := (a/b - 1) * 100
	if v < 0 {
		return "−" + fixed(-v, 0) + " %"
	}
	return "+" + fixed(v, 0) + " %"
}

// sensitivity follows each transport over its payloads.
func sensitivity(b *strings.Builder, rows []results.Row) {
	type key struct {
		subject
		who, latency string
	}
	var order []key
	byKey := map[key][]*results.Row{}
	for i := range rows {
		r := &rows[i]
		if !r.Payload.OK() || !r.P50Us.OK() || !mayWin(r) {
			continue
		}
		s := subjectOf(r)
		s.payload = results.Num{}
		k := key{s, who(r), r.Latency}
		if len(byKey[k]) == 0 {
			order = append(order, k)
		}
		byKey[k] = append(byKey[k], r)
	}
	order = slices.DeleteFunc(order, func(k key) bool { return len(byKey[k]) < 2 })
	slices.SortStableFunc(order, func(a, b key) int {
		return cmp.Or(compareSubjects(a.subject, b.subject), strings.Compare(a.who, b.who), strings.Compare(a.latency, b.latency))
	})
	if len(order) == 0 {
		b.WriteString("No transport has publishable rows at two payloads.\n\n")
		return
	}
	where := onMachine(rows)
	tableHead(b, []string{"Scenario", "Transport", "Payload B", "min", "p50", "mean", "p50 against the smallest"}, 2)
	for _, k := range order {
		v := byKey[k]
		slices.SortStableFunc(v, func(a, b *results.Row) int { return cmp.Compare(a.Payload.Or(0), b.Payload.Or(0)) })
		for i, r := range v {
			delta := "baseline"
			if i > 0 {
				first, p50 := v[0].P50Us.Or(0), r.P50Us.Or(0)
				delta = signed(p50-first, micros2) + " (" + share(p50, first) + ")"
			}
			safeLine(b, []string{cell(k.scenario + ", " + perSecond(k.rate) + ", " + latencyName(k.latency) + where(r)), cell(k.who), r.Payload.String(),
				micros2(r.MinUs), micros2(r.P50Us), micros2(r.MeanUs), delta})
		}
	}
	b.WriteString("\n")
}

// reliability shows how each row behaves at full speed.
func reliability(b *strings.Builder, all []group, where func(*results.Row) string) {
	all = atMax(all)
	if len(all) == 0 {
		b.WriteString(noneAtMax)
		return
	}
	tableHead(b, []string{"Scenario, payload B", "Transport", "Status", "mean", "p99", "p99/p50", "lost", "drift %", "samples max/min"}, 3)
	for _, g := range all {
		for _, r := range g.rows {
			tail := ""
			if p50, p99 := r.P50Us.Or(0), r.P99Us.Or(0); p50 > 0 && p99 > 0 {
				tail = fixed(p99/p50, 1)
			}
			status := verdictText(r.Row)
			if r.Reason != "" {
				status += ": " + r.Reason
			}
			safeLine(b, []string{cell(r.Scenario + " " + r.Payload.String() + where(r.Row)), pairMark(r.Row) + cell(who(r.Row)), cell(status),
				micros2(r.MeanUs), micros2(r.P99Us), tail, r.Lost.String(), exact(r.DriftPct, 1), exact(r.RawRatio, 2)})
		}
	}
	b.WriteString("\n")
}

const noneAtMax = "Nothing was measured at maximum rate.\n\n"

// atMax are the groups at full speed.
func atMax(all []group) []group {
	return slices.DeleteFunc(slices.Clone(all), func(g group) bool { return g.rate != "max" })
}

// throughputs shows operations and bytes per second at full speed.
func throughputs(b *strings.Builder, all []group, where func(*results.Row) string) {
	all = atMax(all)
	if len(all) == 0 {
		b.WriteString(noneAtMax)
		return
	}
	tableHead(b, []string{"Scenario", "Transport", "Payload B", "per second", "interval", "messages/s", "MB/s", "CPU %"}, 2)
	for _, g := range all {
		for _, r := range g.rows {
			safeLine(b, []string{cell(r.Scenario + where(r.Row)), pairMark(r.Row) + cell(who(r.Row)), r.Payload.String(), count(r.Throughput),
				span(r.ThroughputLo, r.ThroughputHi, count), count(r.MessagesPerS), exact(r.MBPerS, 1), cpu(r.Row, r.TotalCPU, 0)})
		}
	}
	b.WriteString("\nMB is 10^6 bytes of payload received.\n\n")
}
