package report

import (
	"fmt"
	"strings"
)

// claims writes what may be said in public: who is best at p50, p99 and (at max) throughput of each table, if the whole
// interval of the ratio to the second lies on one side of 1, with the rows that it rests on.
func claims(b *strings.Builder, all []group, d Document) {
	ties, n := 0, 0
	for _, g := range all {
		metrics := []metric{p50Metric, p99Metric}
		if g.rate == "max" {
			metrics = append(metrics, throughputMetric)
		}
		for _, m := range metrics {
			w, ok := g.win(m)
			if !ok {
				continue
			}
			r := ratioOf(d, []pair{{w.best, w.second, m}})
			if !r.interval || r.lo <= 1 {
				ties++
				continue
			}
			n++
			fmt.Fprintf(b, "- %s\n", claim(g, m, w, r))
		}
	}
	if n == 0 {
		b.WriteString("None: no two publishable rows of one table differ by more than their intervals.\n")
	}
	if ties > 0 {
		fmt.Fprintf(b, "\n%s: too close to call, or without an interval, and no claim follows.\n", plural(ties, "more comparison"))
	}
	b.WriteString("\nEach holds for the machine and the settings above, and for nothing else.\n\n")
}

func claim(g group, m metric, w duel, r ratio) string {
	best, word := "lowest", "times as long"
	if m.higher {
		best, word = "highest", "times less"
	}
	unit := " µs"
	if m.higher {
		unit = "/s"
	}
	own := ""
	if m.lo != nil {
		own = span(m.lo(w.best), m.hi(w.best), m.text)
	}
	if own != "" {
		own = " (" + own + ")"
	}
	n := 0
	for _, x := range g.rows {
		if g.comparable(x.Row) && m.of(x.Row).OK() {
			n++
		}
	}
	return fmt.Sprintf("%s has the %s %s of %d in “%s”: %s%s%s; for the next, %s, it is %s %s. Rows: `%s`, `%s`.",
		cell(who(w.best)), best, m.name, n, cell(g.title), m.text(m.of(w.best)), unit, own, cell(who(w.second)), r, word,
		code(w.best.Cell), code(w.second.Cell))
}
