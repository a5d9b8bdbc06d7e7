package report

import (
	"fmt"
	"strings"

	"msgbench/results"
)

// validation compares the keys that were to be measured with the rows that are there. Counting rows would let a doubled
// pair hide a missing one.
type validation struct {
	known    bool // what was to be measured
	expected int
	groups   []*expectation
	byName   map[[2]string]*expectation // name and rate
	faults   []string                   // the first of them
	more     int                        // beyond those
}

// mostFaults is how many are named.
const mostFaults = 50

func (v *validation) fault(format string, args ...any) {
	if len(v.faults) == mostFaults {
		v.more++
		return
	}
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// expectation is the cells of one scenario, transport and rate.
type expectation struct {
	name             string
	rate             string
	expected, actual int
}

// wanted is a cell that is to have a row.
type wanted struct {
	results.Cell
	group *expectation
}

func validate(d Document) validation {
	v := validation{byName: map[[2]string]*expectation{}}
	cells := map[string]wanted{}
	peers := map[string]bool{}
	plan := planOf(d)
	v.known, v.expected = len(plan) > 0, len(plan)
	source := ""
	if d.Run == nil && len(d.Rows) > 0 {
		source = d.Rows[0].Source
	}
	for _, c := range plan {
		g := v.group(groupName(c, source), rpsText(results.RateString(c.Rate)))
		g.expected++
		cells[c.Key()] = wanted{c, g}
		peers[c.Client], peers[c.Server] = true, true
	}
	seen := map[string]int{}
	for i := range d.Rows {
		r := &d.Rows[i]
		seen[r.Cell]++
		w, ok := cells[r.Cell]
		if !v.known {
			w.group = v.group(shortName(r), rpsText(r.TargetRPS))
		}
		switch {
		case seen[r.Cell] == 2:
			v.fault("`%s`: stands there more than once", code(r.Cell))
		case seen[r.Cell] > 2:
		case v.known && !ok:
			v.fault("`%s`: not expected%s", code(r.Cell), unknownPeers(r, peers))
		case r.Verdict == results.Failed || r.Verdict == results.Skipped:
			v.fault("`%s`: %s: %s", code(r.Cell), r.Verdict, cell(r.Reason))
		case short(r) != "":
			v.fault("`%s`: %s", code(r.Cell), short(r))
		default:
			w.group.actual++
		}
	}
	for _, c := range plan {
		if seen[c.Key()] == 0 {
			v.fault("`%s`: missing", code(c.Key()))
		}
	}
	return v
}

// planOf is what was to be measured: the cells of the run, or those of the matrix that netipc publishes.
func planOf(d Document) []results.Cell {
	if d.Run != nil {
		return d.Run.Cells
	}
	if len(d.Rows) == 0 || anyRow(d.Rows, func(r *results.Row) bool { return r.Source != sourceNetipc }) {
		return nil
	}
	return netipcMatrix(netipcBase(d.Rows))
}

func (v *validation) group(name, rate string) *expectation {
	at := [2]string{name, rate}
	if g := v.byName[at]; g != nil {
		return g
	}
	g := &expectation{name: name, rate: rate}
	v.byName[at] = g
	v.groups = append(v.groups, g)
	return g
}

func groupName(c results.Cell, source string) string {
	r := results.Row{Scenario: c.Scenario, Transport: c.Transport, Depth: c.Dim("depth"), Source: source}
	name := shortName(&r)
	if source != sourceNetipc && c.Payload != results.NoPayload {
		name += " " + c.PayloadString()
	}
	return name
}

// rpsText is the target rate as netipc writes it: 0 for max.
func rpsText(rate string) string {
	if rate == "max" {
		return "0"
	}
	return rate
}

func unknownPeers(r *results.Row, known map[string]bool) string {
	for _, p := range []string{r.Client, r.Server} {
		if !known[p] {
			return ": unknown peer " + cell(p)
		}
	}
	return ""
}

// short says what a row lacks that every row of its kind has; empty if nothing.
func short(r *results.Row) string {
	if r.Throughput.Or(0) <= 0 {
		return "no throughput"
	}
	none := r.Scenario == "lookup" || r.Mode == "flood" && r.Latency == "" // they have no latency
	if p50, _, _ := service(r); !none && !p50.OK() && !r.MeanUs.OK() {
		return "no latency"
	}
	return ""
}

func (v validation) markdown(b *strings.Builder) {
	rows := make([][]string, len(v.groups))
	for i, g := range v.groups {
		expected := "not known"
		if v.known {
			expected = fmt.Sprint(g.expected)
		}
		rows[i] = []string{cell(g.name), cell(g.rate), expected, fmt.Sprint(g.actual)}
	}
	markdownTable(b, []string{"Scenario", "Target RPS", "Expected Rows", "Actual Rows"}, 1, rows)
	b.WriteString("Target 0 is max. Rows are compared by their keys; actual rows are expected ones that have figures.\n\n")
	for _, f := range v.faults {
		fmt.Fprintf(b, "- %s\n", f)
	}
	if v.more > 0 {
		fmt.Fprintf(b, "- and %d more\n", v.more)
	}
	if len(v.faults) > 0 {
		b.WriteString("\n")
	}
}
