package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"msgbench/results"
)

// group is rows that may stand in one table: one scenario, payload, target rate, loop and kind of latency.
type group struct {
	title string
	rows  []ranked
	rate  string
}

// ranked is a row and its rank from 1; 0 where it has none.
type ranked struct {
	results.Row
	rank int
}

// groups sorts rows into tables, and those of a table by rank: by throughput at max, by median latency at a fixed rate
// (where throughput only repeats the target). Rows that can't be relied on follow without a rank.
func groups(rows []results.Row) []group {
	type key struct{ scenario, payload, rate, mode, scope, machine string }
	var order []key
	byKey := map[key][]results.Row{}
	for _, r := range rows {
		k := key{r.Scenario, r.Payload.String(), r.TargetRPS, r.Mode, r.Scope, r.Machine}
		if _, seen := byKey[k]; !seen {
			order = append(order, k)
		}
		byKey[k] = append(byKey[k], r)
	}
	slices.SortStableFunc(order, func(a, b key) int {
		return cmp.Or(
			strings.Compare(a.scenario, b.scenario), strings.Compare(a.mode, b.mode), strings.Compare(a.scope, b.scope),
			cmp.Compare(number(a.payload), number(b.payload)),
			-cmp.Compare(rate(a.rate), rate(b.rate)), strings.Compare(a.machine, b.machine))
	})
	var out []group
	for _, k := range order {
		g := group{title: title(byKey[k]), rate: k.rate}
		for _, r := range byKey[k] {
			g.rows = append(g.rows, ranked{Row: r})
		}
		g.sort()
		out = append(out, g)
	}
	return out
}

func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return -1
	}
	return v
}

// rate sorts max before every number.
func rate(s string) float64 {
	if s == "max" {
		return 1e18
	}
	return number(s)
}

func (g *group) sort() {
	slices.SortStableFunc(g.rows, func(a, b ranked) int {
		pa, pb := results.Publishable(a.Verdict), results.Publishable(b.Verdict)
		if pa != pb {
			if pa {
				return -1
			}
			return 1
		}
		if g.rate == "max" {
			return cmp.Or(-cmp.Compare(a.Throughput.Or(-1), b.Throughput.Or(-1)), strings.Compare(a.Cell, b.Cell))
		}
		return cmp.Or(cmp.Compare(a.P50Us.Or(1e18), b.P50Us.Or(1e18)), strings.Compare(a.Cell, b.Cell))
	})
	for i := range g.rows {
		if results.Publishable(g.rows[i].Verdict) {
			g.rows[i].rank = i + 1
		}
	}
}

// title names what the rows of a group have in common.
func title(rows []results.Row) string {
	r := rows[0]
	for _, x := range rows {
		if x.Latency != "" { // a failed row does not know it
			r = x
			break
		}
	}
	parts := []string{r.Scenario}
	if r.Mode != "" {
		parts = append(parts, r.Mode)
	}
	if r.Scope != "" {
		parts = append(parts, "scope "+r.Scope)
	}
	if r.Payload.OK() {
		parts = append(parts, r.Payload.String()+" B")
	}
	if r.TargetRPS == "max" {
		parts = append(parts, "max rate")
	} else {
		parts = append(parts, r.TargetRPS+"/s")
	}
	if r.Loop != "" {
		parts = append(parts, r.Loop+" loop")
	}
	if r.Latency != "" {
		parts = append(parts, "latency: "+latencyName(r.Latency))
	}
	return strings.Join(parts, " · ")
}

func latencyName(kind string) string {
	switch kind {
	case results.RTT:
		return "round trip"
	case results.Response:
		return "response time"
	case results.OneWay:
		return "one way"
	}
	return kind
}

// name is what tells a row from the others of its group.
func (r ranked) name() string {
	s := r.Transport
	if r.Client != "go" || r.Server != "go" {
		s += " " + r.Client + "→" + r.Server
	}
	s += strings.ReplaceAll(r.dims(), "/", " ")
	return mark(r.Row, oneLine(s))
}

// dims is what the key has beyond the columns that are in every key: the dimensions that are not at their default.
func (r ranked) dims() string {
	payload := "-"
	if r.Payload.OK() {
		payload = r.Payload.String() + "B"
	}
	plain := strings.Join([]string{r.Scenario, r.Transport, r.Client + "-" + r.Server, payload, r.TargetRPS}, "/")
	dims, ok := strings.CutPrefix(r.Cell, plain)
	if !ok {
		return " " + r.Cell
	}
	return dims
}

func (r ranked) rankString() string {
	if r.rank == 0 {
		return "–"
	}
	return fmt.Sprint(r.rank)
}
