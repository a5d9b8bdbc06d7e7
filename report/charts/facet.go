package charts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"msgbench/results"
)

// Facet is what rows must have in common to stand in one table or chart: never two machines, two loops or two kinds of
// latency. A scope is a property of the transport, so that brokered rows stand beside direct ones.
type Facet struct {
	Machine, Source, Scenario, Mode, Loop, Latency string
}

// FacetOf gives the facet of a row.
func FacetOf(r *results.Row) Facet {
	f := Facet{r.Machine, "", r.Scenario, r.Mode, r.Loop, r.Latency}
	if r.Verdict == results.Imported {
		f.Source = r.Source
	}
	return f
}

// Title names the facet for people, without its machine and source.
func (f Facet) Title() string {
	parts := []string{f.Scenario}
	if f.Mode != "" {
		parts = append(parts, f.Mode)
	}
	if f.Loop != "" {
		parts = append(parts, f.Loop+" loop")
	}
	if f.Latency != "" {
		parts = append(parts, f.latency())
	}
	return strings.Join(parts, " · ")
}

func (f Facet) latency() string {
	switch f.Latency {
	case results.RTT:
		return "round trip"
	case results.OneWay:
		return "one way"
	case results.Response:
		return "response time"
	case results.Service:
		return "service time"
	case "":
		return "latency"
	}
	return f.Latency + " time"
}

// Where is the machine and the source.
func (f Facet) Where() string {
	if f.Source == "" {
		return f.Machine
	}
	return strings.TrimPrefix(f.Machine+" · from "+f.Source, " · ")
}

// Name tells a row from the others of its facet that have the same payload and rate. "~" is before unstable ones.
func Name(r *results.Row) string { return marked(r, lineName(r, dims(r))) }

func marked(r *results.Row, s string) string {
	if r.Verdict == results.Unstable {
		s = "~ " + s
	}
	return s
}

// lineName is Name without the mark: rows that differ in payload or rate only share it.
func lineName(r *results.Row, dims string) string {
	s := r.Transport
	if s == "-" {
		s = r.Scenario
	}
	if r.Client != "go" || r.Server != "go" {
		s += " " + r.Client + "→" + r.Server
	}
	return strings.Join(strings.Fields(s+" "+dims), " ")
}

// dims is what the key has beyond what is in every key, without what is part of the facet.
func dims(r *results.Row) string {
	c := results.Cell{Scenario: r.Scenario, Transport: r.Transport, Client: r.Client, Server: r.Server, Payload: results.NoPayload}
	if v, ok := r.Payload.Value(); ok {
		c.Payload = int(v)
	}
	base := strings.TrimSuffix(c.Key(), results.RateString(0)) + r.TargetRPS
	rest, ok := strings.CutPrefix(r.Cell, base)
	if !ok { // of another benchmark
		return ""
	}
	parts := slices.DeleteFunc(strings.Split(rest, "/"), func(s string) bool { return s == "mode="+r.Mode })
	return strings.Join(parts, " ")
}

// Group is the rows of a facet, in the order of tables and charts: by payload, then max before fixed rates, then by the number
// of subscribers, then the publishable ones, the best of them first: by throughput at max, else by latency.
type Group struct {
	Facet
	Rows  []*results.Row
	items []item
}

// speed is what rows at max are sorted by.
func speed(r *results.Row) float64 {
	v, _, _ := r.Speed()
	return v.Or(-1)
}

// Split sorts rows into facets, in the order in which these first occur.
func Split(rows []*results.Row) []Group {
	// Comparing rows reads numbers anew each time, and 100,000 of them are compared two million times.
	type sorting struct {
		payload, rate float64
		subscribers   float64
		rank          int
		order         float64
		item          entry
	}
	index := map[Facet]int{}
	var facets []Facet
	var lists [][]sorting
	for n, r := range rows {
		f := FacetOf(r)
		i, ok := index[f]
		if !ok {
			i = len(facets)
			index[f] = i
			facets, lists = append(facets, f), append(lists, nil)
		}
		d := dims(r)
		s := sorting{payload: r.Payload.Or(-1), rate: -rate(r), subscribers: number(r.Subscribers), rank: rank(r), order: -speed(r), item: entry{r, lineName(r, d), d, n}}
		if r.TargetRPS != "max" {
			s.order = r.P50Us.Or(1e18)
		}
		lists[i] = append(lists[i], s)
	}
	out := make([]Group, len(facets))
	for i, list := range lists {
		order := make([]int, len(list))
		for n := range order {
			order[n] = n
		}
		slices.SortFunc(order, func(x, y int) int {
			a, b := &list[x], &list[y]
			if c := cmp.Or(cmp.Compare(a.payload, b.payload), cmp.Compare(a.rate, b.rate), cmp.Compare(a.subscribers, b.subscribers),
				cmp.Compare(a.rank, b.rank), cmp.Compare(a.order, b.order)); c != 0 {
				return c
			}
			return cmp.Or(strings.Compare(a.item.Cell, b.item.Cell), cmp.Compare(x, y))
		})
		g := Group{facets[i], make([]*results.Row, len(list)), make([]item, len(list))}
		for n, from := range order {
			g.items[n] = &list[from].item
			g.Rows[n] = g.items[n].Row
		}
		out[i] = g
	}
	return out
}

func rank(r *results.Row) int {
	switch {
	case results.Publishable(r.Verdict), r.Verdict == results.Imported:
		return 0
	case r.Verdict == results.Unstable:
		return 1
	}
	return 2
}

// rate puts max before every number.
func rate(r *results.Row) float64 {
	if r.TargetRPS == "max" || r.TargetRPS == "" {
		return 1e18
	}
	return number(r.TargetRPS)
}

// number is 0 for what is none.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return v
}
