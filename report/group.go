package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"msgbench/results"
)

// group is rows that may stand in one table: one machine, scenario, payload, target rate, loop and kind of latency.
type group struct {
	title   string
	rows    []ranked
	rate    string
	machine string
}

// ranked is a row and its rank from 1; 0 where it has none.
type ranked struct {
	*results.Row
	rank int
}

// subject is what the rows of a group have in common, apart from the kind of latency, which a failed row does not know.
// A scope is a property of the transport, as its wait strategy is: brokered and direct rows stand side by side, each with its name.
type subject struct {
	scenario, mode, subscribers string
	payload                     results.Num
	rate, machine               string
}

func subjectOf(r *results.Row) subject {
	return subject{r.Scenario, r.Mode, r.Subscribers, r.Payload, r.TargetRPS, r.Machine}
}

func compareSubjects(a, b subject) int {
	return cmp.Or(
		cmp.Compare(scenarioOrder(a.scenario), scenarioOrder(b.scenario)), strings.Compare(a.scenario, b.scenario),
		strings.Compare(a.mode, b.mode), cmp.Compare(number(a.subscribers), number(b.subscribers)),
		cmp.Compare(a.payload.Or(-1), b.payload.Or(-1)),
		-cmp.Compare(rate(a.rate), rate(b.rate)), strings.Compare(a.machine, b.machine))
}

// scenarioOrder is the order in which people look for them.
func scenarioOrder(s string) int {
	i := slices.Index([]string{"ping-pong", "batch", "snapshot", "pipeline", "pipeline-batch", "broadcast", "data-rate", "lookup"}, s)
	if i < 0 {
		return 1000
	}
	return i
}

// groups sorts rows into tables, and those of a table by rank: by throughput at max, by median latency at a fixed rate
// (where throughput only repeats the target). Rows that can't be relied on follow without a rank.
func groups(rows []results.Row) []group {
	type key struct {
		subject
		loop, latency string
	}
	first := map[subject]key{} // of the rows that know their latency
	for i := range rows {
		if r := &rows[i]; r.Latency != "" {
			s := subjectOf(r)
			if _, seen := first[s]; !seen {
				first[s] = key{s, r.Loop, r.Latency}
			}
		}
	}
	type table struct {
		key
		rows []ranked
	}
	var tables []table
	index := map[key]int{}
	for i := range rows {
		r := &rows[i]
		s := subjectOf(r)
		k, ok := first[s]
		if !ok {
			k = key{subject: s}
		} else if r.Latency != "" {
			k.loop, k.latency = r.Loop, r.Latency
		}
		n, seen := index[k]
		if !seen {
			n = len(tables)
			index[k] = n
			tables = append(tables, table{key: k})
		}
		tables[n].rows = append(tables[n].rows, ranked{Row: r})
	}
	slices.SortStableFunc(tables, func(a, b table) int {
		return cmp.Or(compareSubjects(a.subject, b.subject), strings.Compare(a.loop, b.loop), strings.Compare(a.latency, b.latency))
	})
	machines := map[string]bool{}
	for _, t := range tables {
		machines[t.machine] = true
	}
	out := make([]group, len(tables))
	for i, t := range tables {
		out[i] = group{title: title(t.rows), rate: t.rate, machine: t.machine, rows: t.rows}
		if len(machines) > 1 && t.machine != "" {
			out[i].title += " · " + t.machine
		}
		out[i].sort()
	}
	return out
}

// number is -1 for what is none.
func number(s string) float64 {
	if s == "" { // as most are that are compared; the error takes longer than all the rest
		return -1
	}
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

// plain is the rows without their ranks.
func (g group) plain() []*results.Row {
	rows := make([]*results.Row, len(g.rows))
	for i := range g.rows {
		rows[i] = g.rows[i].Row
	}
	return rows
}

func (g *group) sort() {
	const publishable, other, imported = 0, 1, 2
	type sorting struct {
		row    *results.Row
		class  int
		figure float64 // less is better
		place  int
	}
	list := make([]sorting, len(g.rows)) // what rows are compared by is looked up once: there may be 100,000 of them
	for i, r := range g.rows {
		list[i] = sorting{r.Row, other, r.P50Us.Or(1e18), i}
		if g.rate == "max" {
			list[i].figure = -r.speed()
		}
		switch {
		case results.Publishable(r.Verdict):
			list[i].class = publishable
		case r.Verdict == results.Imported:
			list[i].class, list[i].figure = imported, float64(i) // an order by figures would be a ranking
		}
	}
	slices.SortFunc(list, func(a, b sorting) int {
		if c := cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.figure, b.figure)); c != 0 {
			return c
		}
		return cmp.Or(strings.Compare(a.row.Cell, b.row.Cell), cmp.Compare(a.place, b.place))
	})
	for i, s := range list {
		g.rows[i] = ranked{Row: s.row}
		if s.class == publishable {
			g.rows[i].rank = i + 1
		}
	}
}

// speed is what rows at max are ranked by.
func (r ranked) speed() float64 {
	v, _, _ := r.Speed()
	return v.Or(-1)
}

// lossy tells whether a row of the group lost messages.
func (g group) lossy() bool { return lossy(g.plain()) }

func lossy(rows []*results.Row) bool {
	return slices.ContainsFunc(rows, func(r *results.Row) bool { return r.Lost.Or(0) > 0 })
}

// lostPct is the share of messages that did not arrive, in per cent.
func lostPct(r *results.Row) string {
	sent, ok := r.Sent.Value()
	lost, ok2 := r.Lost.Value()
	if !ok || !ok2 || sent <= 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", 100*lost/sent)
}

// title names what the rows of a group have in common.
func title(rows []ranked) string {
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
	if r.Subscribers != "" {
		parts = append(parts, subscribers(r.Subscribers))
	}
	if r.Payload.OK() {
		parts = append(parts, r.Payload.String()+" B")
	}
	if r.TargetRPS == "max" {
		parts = append(parts, "max rate")
	} else {
		parts = append(parts, perSecond(r.TargetRPS))
	}
	if r.Loop != "" {
		parts = append(parts, r.Loop+" loop")
	}
	if r.Latency != "" {
		parts = append(parts, "latency: "+latencyName(r.Latency))
	}
	return strings.Join(parts, " · ")
}

// perSecond is a target rate for people.
func perSecond(rate string) string {
	if rate == "max" {
		return rate
	}
	return rate + "/s"
}

func subscribers(s string) string {
	if s == "1" {
		return "1 subscriber"
	}
	return s + " subscribers"
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
func (r ranked) name() string { return mark(r.Row, who(r.Row)) }

// who is transport, peers and dimensions of a row.
func who(r *results.Row) string {
	s := r.Transport
	if r.Client != "go" || r.Server != "go" {
		s += " " + r.Client + "→" + r.Server
	}
	s += strings.ReplaceAll(dims(r), "/", " ")
	return oneLine(s)
}

// dims is what the key has beyond the columns that are in every key: the dimensions that are not at their default.
func dims(r *results.Row) string {
	payload, unit := "-", ""
	if r.Payload.OK() {
		payload, unit = r.Payload.String(), "B"
	}
	rest, ok := r.Cell, true
	for _, part := range [...]string{r.Scenario, "/", r.Transport, "/", r.Client, "-", r.Server, "/", payload, unit, "/", r.TargetRPS} {
		if rest, ok = strings.CutPrefix(rest, part); !ok {
			return " " + r.Cell
		}
	}
	return rest
}

func (r ranked) rankString() string {
	if r.rank == 0 {
		return "–"
	}
	return strconv.Itoa(r.rank)
}
