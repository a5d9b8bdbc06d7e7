package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"msgbench/results"
)

// references are published rows that stand beside measured ones in columns of their own. They are never ranked, never a
// winner and never a floor: they come from another machine, under other rules.
type references struct {
	byCell map[string][]*results.Row
	used   map[string]bool
	all    []*results.Row
}

var refHead = []string{"ref /s", "ref p50 (us)", "ref p99 (us)", "ref mean (us)", "reference"}

func newReferences(tables []results.Table) *references {
	refs := &references{byCell: map[string][]*results.Row{}, used: map[string]bool{}}
	for t := range tables {
		for i := range tables[t].Rows {
			r := &tables[t].Rows[i]
			refs.all = append(refs.all, r)
			k := counterpart(r)
			refs.byCell[k] = append(refs.byCell[k], r)
		}
	}
	return refs
}

// counterpart is equal for rows of one cell: a reference may have more dimensions in its key (which run it was), and says
// less on others.
func counterpart(r *results.Row) string {
	return strings.Join([]string{r.Scenario, r.Transport, r.Client, r.Server, r.Payload.String(), r.TargetRPS,
		r.Mode, orText(r.Subscribers, "1")}, "/")
}

// any tells whether one of the rows has a reference.
func (refs *references) any(rows []*results.Row) bool {
	return len(refs.all) > 0 && slices.ContainsFunc(rows, func(r *results.Row) bool { return len(refs.byCell[counterpart(r)]) > 0 })
}

// cells are the columns of refHead for a measured row; empty where there is no reference.
func (refs *references) cells(r *results.Row) []string {
	k := counterpart(r)
	rows := refs.byCell[k]
	if len(rows) == 0 {
		return make([]string, len(refHead))
	}
	refs.used[k] = true
	return publishedCells(rows)
}

// publishedCells shows published rows of one cell: the median of each column where there are several runs.
func publishedCells(rows []*results.Row) []string {
	r := rows[0]
	name := strings.Join(slices.DeleteFunc([]string{r.Source, r.Machine}, func(s string) bool { return s == "" }), ", ")
	if r.Latency != "" {
		name += ", " + latencyName(r.Latency)
	}
	if len(rows) > 1 {
		name += fmt.Sprintf(", median of %d runs", len(rows))
	}
	middle := func(f func(*results.Row) results.Num) results.Num {
		v := make([]results.Num, len(rows))
		for i := range rows {
			v[i] = f(rows[i])
		}
		return medianNum(v)
	}
	return []string{
		count(middle(func(r *results.Row) results.Num { return r.Throughput })),
		exact(middle(func(r *results.Row) results.Num { return r.P50Us }), 3),
		exact(middle(func(r *results.Row) results.Num { return r.P99Us }), 3),
		exact(middle(func(r *results.Row) results.Num { return r.MeanUs }), 3),
		cell(name),
	}
}

// unused says how the references came to be, and lists those without a measured counterpart. They stand by name: an order
// by figures would be a ranking.
func (refs *references) unused(b *strings.Builder) {
	if len(refs.all) == 0 {
		return
	}
	var keys []string
	for k := range refs.byCell {
		if !refs.used[k] {
			keys = append(keys, k)
		}
	}
	if !strings.HasSuffix(b.String(), "\n\n") {
		b.WriteString("\n")
	}
	b.WriteString("## References\n\n")
	for _, line := range refs.flaws() {
		fmt.Fprintf(b, "- %s\n", line)
	}
	b.WriteString("\n")
	if len(keys) == 0 {
		return
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(compareSubjects(subjectOf(refs.byCell[a][0]), subjectOf(refs.byCell[b][0])), strings.Compare(a, b))
	})
	const most = 100
	fmt.Fprintf(b, "%s without a measured row of the same scenario, transport, peers, payload and rate, by name:\n\n", plural(len(keys), "published cell"))
	var rows [][]string
	for _, k := range keys[:min(len(keys), most)] {
		name := refs.byCell[k][0].Cell
		if i := strings.Index(name, "/run="); i >= 0 { // several runs stand in one line
			_, rest, _ := strings.Cut(name[i+1:], "/")
			name = strings.TrimSuffix(name[:i]+"/"+rest, "/")
		}
		rows = append(rows, append([]string{cell(name)}, publishedCells(refs.byCell[k])...))
	}
	markdownTable(b, append([]string{"published"}, refHead...), 1, rows)
	if len(keys) > most {
		fmt.Fprintf(b, "And %d more.\n\n", len(keys)-most)
	}
}

// flaws says how the references came to be, a line a source.
func (refs *references) flaws() []string {
	var out []string
	bySource := map[string]bool{}
	for _, r := range refs.all {
		if bySource[r.Source] {
			continue
		}
		bySource[r.Source] = true
		var rows []results.Row
		for _, x := range refs.all {
			if x.Source == r.Source {
				rows = append(rows, *x)
			}
		}
		var parts []string
		for _, c := range reasonCounts(rows) {
			parts = append(parts, fmt.Sprintf("%s (%d of %d)", c.reason, c.n, len(rows)))
		}
		text := "measured elsewhere: " + strings.Join(parts, "; ")
		out = append(out, cell(r.Source+" ("+orText(r.Machine, "machine not named")+"): "+text))
	}
	return out
}

// medianNum is the median of the numbers that there are.
func medianNum(v []results.Num) results.Num {
	var x []float64
	for _, n := range v {
		if f, ok := n.Value(); ok {
			x = append(x, f)
		}
	}
	if len(x) == 0 {
		return results.Num{}
	}
	return results.N(medianOf(x))
}
