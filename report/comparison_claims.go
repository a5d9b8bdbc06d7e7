package report

import (
	"fmt"
	"slices"
	"strings"

	"msgbench/results"
)

// claims writes what may be said in public: who is best at p50, p99 and (at max) throughput of each table, if the whole
// interval of the ratio to each other row lies on one side of 1, with the rows that it rests on.
func claims(b *strings.Builder, all []group, d Document) {
	ties, n := 0, 0
	for _, g := range all {
		metrics := []metric{p50Metric, p99Metric}
		if g.rate == "max" {
			metrics = append(metrics, g.speed())
		}
		for _, m := range metrics {
			w, ok := g.win(m)
			if !ok {
				continue
			}
			r := ratioOf(d, []pair{{w.best, w.second, m}})
			if !r.interval || slices.ContainsFunc(w.others, func(o *results.Row) bool { return !beats(d, w.best, o, m) }) {
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

// beats tells whether the whole interval of the ratio of two rows is beyond 1. The best of a table has to beat every other: the
// interval of a third may reach further than that of the second.
func beats(d Document, best, other *results.Row, m metric) bool {
	r := ratioOf(d, []pair{{best, other, m}})
	return r.interval && r.lo > 1
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
	return fmt.Sprintf("%s has the %s %s of %d in “%s”: %s%s%s; for the next, %s, it is %s %s. Rows: `%s`, `%s`.",
		cell(who(w.best)), best, m.name, len(w.others)+1, cell(g.title), m.text(m.of(w.best)), unit, own, cell(who(w.second)), r, word,
		code(w.best.Cell), code(w.second.Cell))
}
