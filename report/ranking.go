package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"msgbench/results"
)

// RankingPage is one table over all transports of a machine. A place is the geometric mean, over the tables that they have
// in common, of throughput at max and of p50 at fixed rates.
func RankingPage(d Document) string {
	var b strings.Builder
	b.WriteString("# Ranking\n\n")
	facts(&b, d)
	summary(&b, d.Rows)
	b.WriteString(rankingRule + "\n\n")
	byMachine := map[string][]group{}
	var machines []string
	imported := 0
	for _, g := range groups(d.Rows) {
		g.rows = slices.DeleteFunc(g.rows, func(r ranked) bool {
			if r.Verdict == results.Imported {
				imported++
			}
			return r.Verdict == results.Imported || r.Transport == "-"
		})
		if len(g.rows) == 0 {
			continue
		}
		if len(byMachine[g.machine]) == 0 {
			machines = append(machines, g.machine)
		}
		byMachine[g.machine] = append(byMachine[g.machine], g)
	}
	for _, m := range machines {
		if len(machines) > 1 {
			fmt.Fprintf(&b, "## %s\n\n", cell(orText(m, "machine not named")))
		}
		rankingTable(&b, newContest(byMachine[m]), d)
	}
	if len(machines) == 0 {
		b.WriteString("No measured row to rank.\n\n")
	}
	if imported > 0 {
		fmt.Fprintf(&b, "%s measured elsewhere: not ranked.\n\n", plural(imported, "row"))
	}
	newReferences(d.References).unused(&b)
	return b.String()
}

const rankingRule = `“× the best” is how many times as much each needs as the first: the geometric mean over the tables counted, of 1/throughput at
maximum rate and of p50 at a fixed rate. = before a rank: the interval reaches 1, or there is none, so that the first may not be better. Only
publishable rows count, and at a fixed rate only those that reached it. A transport that lacks a counted table has no rank.`

// contest is the tables that count and who has a row in each of them.
type contest struct {
	tables   []group
	entrants []*entrant
	places   int // of those before, how many are ranked
}

type entrant struct {
	name  string
	rows  []*results.Row // by table; nil where there is none that is publishable
	score float64        // mean of the logarithm of what it needs
}

// newContest counts the tables in which at least half as many take part as in the fullest one, and at least two.
func newContest(all []group) contest {
	var c contest
	most := 0
	size := make([]int, len(all))
	for i, g := range all {
		for _, r := range g.rows {
			if cost(g, r.Row) > 0 {
				size[i]++
			}
		}
		most = max(most, size[i])
	}
	for i, g := range all {
		if size[i] >= 2 && 2*size[i] >= most {
			c.tables = append(c.tables, g)
		}
	}
	byName := map[string]*entrant{}
	for _, g := range all {
		for _, r := range g.rows {
			name := entrantName(r.Row)
			if byName[name] == nil {
				byName[name] = &entrant{name: name, rows: make([]*results.Row, len(c.tables))}
				c.entrants = append(c.entrants, byName[name])
			}
		}
	}
	for i, g := range c.tables {
		for _, r := range g.rows {
			if cost(g, r.Row) > 0 {
				byName[entrantName(r.Row)].rows[i] = r.Row
			}
		}
	}
	for _, e := range c.entrants {
		e.score = math.Inf(1)
		if len(c.tables) > 0 && !slices.Contains(e.rows, nil) {
			e.score = 0
			for i, r := range e.rows {
				e.score += math.Log(cost(c.tables[i], r)) / float64(len(e.rows))
			}
			c.places++
		}
	}
	slices.SortStableFunc(c.entrants, func(a, b *entrant) int {
		return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.name, b.name))
	})
	return c
}

// entrantName is who takes part: without the dimensions that a table has in common, which differ from one table to the next.
func entrantName(r *results.Row) string {
	var own []string
	for _, word := range strings.Fields(who(r)) {
		if !strings.HasPrefix(word, "mode=") && !strings.HasPrefix(word, "subscribers=") {
			own = append(own, word)
		}
	}
	return strings.Join(own, " ")
}

// deciding is the metric that a table is ranked by.
func deciding(g group) metric {
	if g.rate == "max" {
		return g.speed()
	}
	return p50Metric
}

// cost is what a row needs: less is better; 0 where it is not known.
func cost(g group, r *results.Row) float64 {
	if !mayWin(r) {
		return 0
	}
	m := deciding(g)
	v := m.of(r).Or(0)
	if m.higher && v > 0 {
		return 1 / v
	}
	return v
}

// columns is how many tables may have a column of their own.
const columns = 6

func rankingTable(b *strings.Builder, c contest, d Document) {
	head := []string{"#", "transport", "× the best", "interval"}
	own := len(c.tables) <= columns
	if own {
		for _, g := range c.tables {
			unit := "p50 µs"
			if g.rate == "max" {
				unit = "/s"
				if m := deciding(g); m.name != throughputMetric.name {
					unit = m.name + " " + unit
				}
			}
			head = append(head, cell(g.title)+", "+unit)
		}
	}
	head = append(head, "note")
	var lines [][]string
	for i, e := range c.entrants {
		l := []string{"–", cell(e.name), "", ""}
		if i < c.places {
			l[0] = fmt.Sprint(i + 1)
			l[2] = "1.00"
		}
		if i > 0 && i < c.places {
			var pairs []pair
			for t, g := range c.tables {
				pairs = append(pairs, pair{c.entrants[0].rows[t], e.rows[t], deciding(g)})
			}
			r := ratioOf(d, pairs)
			l[2], l[3] = times(r.mid), "none: "+r.how
			if r.interval {
				l[3] = times(r.lo) + " – " + times(r.hi) + " (" + r.how + ")"
			}
			if !r.interval || r.lo <= 1 {
				l[0] = "= " + l[0]
			}
		}
		missing := 0
		for t, r := range e.rows {
			text := ""
			if r == nil {
				missing++
			} else {
				m := deciding(c.tables[t])
				text = m.text(m.of(r))
			}
			if own {
				l = append(l, text)
			}
		}
		note := ""
		if missing > 0 {
			note = fmt.Sprintf("no publishable row in %d of %d", missing, len(c.tables))
		} else if len(c.tables) == 0 {
			note = "nothing to compare it with"
		}
		lines = append(lines, append(l, note))
	}
	markdownTable(b, head, 2, lines)
	if !own {
		b.WriteString("Counted:\n\n")
		for _, g := range c.tables {
			fmt.Fprintf(b, "- %s\n", cell(g.title))
		}
		b.WriteString("\n")
	}
}
