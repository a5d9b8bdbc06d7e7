package charts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"msgbench/results"
	"msgbench/stability"
)

// Kind is what a chart shows.
type Kind string

// The kinds, in the order in which they stand.
const (
	Throughput Kind = "throughput"
	ByPayload  Kind = "latency-by-payload"
	ByRate     Kind = "latency-by-rate"
	Pairs      Kind = "pairs" // client × server
	Tail       Kind = "latency-by-percentile"
	Samples    Kind = "samples" // over time
)

var kinds = []Kind{Throughput, ByPayload, ByRate, Pairs, Tail, Samples}

// Chart is one drawing of rows of one facet.
type Chart struct {
	Kind  Kind
	Facet Facet
	Name  string // for a file, of [a-z0-9.-], its own within what Of returns
	Title string // with what all rows have in common
	draw  func() *drawing
}

// SVG is a file of its own: fixed colours on white.
func (c Chart) SVG() string { return c.draw().svg(false, c.Title) }

// Inline is SVG for a page that has CSS.
func (c Chart) Inline() string { return c.draw().svg(true, c.Title) }

// PNG is a picture of 960 pixels in width.
func (c Chart) PNG() ([]byte, error) { return c.draw().png() }

// item is a row with what is asked of it again and again.
type item = *entry

type entry struct {
	*results.Row
	line  string // lineName
	dims  string
	place int // among all rows
}

// Of gives the charts in which the rows have something to show, by facet in the order of the groups, then by kind. strips
// are those of the run, if there is a journal.
func Of(facets []Group, strips []stability.Strip) []Chart {
	s := selection{strips: make(map[string]*stability.Strip, len(strips)), styles: styles(facets), names: map[string]int{}}
	for i := range strips {
		s.strips[strips[i].Cell] = &strips[i]
	}
	for _, f := range facets[:min(1, len(facets))] {
		s.where = slices.ContainsFunc(facets, func(g Group) bool { return g.Where() != f.Where() })
	}
	var all []Chart
	for _, f := range facets {
		list := f.items
		s.facet = f.Facet
		s.out = nil
		for _, g := range groups(list, pointOf) {
			s.throughput(g)
			s.tail(g)
			s.samples(g)
		}
		for _, g := range groups(list, func(r item) string { return r.TargetRPS }) {
			s.byPayload(g)
		}
		for _, g := range groups(list, func(r item) results.Num { return r.Payload }) {
			s.byRate(g)
		}
		type pair struct {
			transport, dims string
			point
		}
		for _, g := range groups(list, func(r item) pair { return pair{r.Transport, r.dims, pointOf(r)} }) {
			s.pairs(g)
		}
		slices.SortStableFunc(s.out, func(a, b Chart) int {
			return cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind))
		})
		all = append(all, s.out...)
	}
	return all
}

// point is the payload, the rate and to how many it goes.
type point struct {
	payload           results.Num
	rate, subscribers string
}

func pointOf(r item) point { return point{r.Payload, r.TargetRPS, r.Subscribers} }

// groups sorts rows by a key, keys in the order in which they first occur.
func groups[K comparable](rows []item, key func(item) K) [][]item {
	index := map[K]int{}
	var list [][]item
	for _, r := range rows {
		k := key(r)
		i, ok := index[k]
		if !ok {
			i = len(list)
			index[k] = i
			list = append(list, nil)
		}
		list[i] = append(list[i], r)
	}
	return list
}

// styles gives each name a style of its own, so that a transport looks the same in all charts. Plain names come first: the
// first eight have a colour to themselves.
func styles(facets []Group) map[string]int {
	// In the order in which they occur among all rows, whatever the facets.
	type named struct {
		line  string
		place int
	}
	var plain, other []named
	seen := map[string]int{} // index from 1: of plain above 0, of other below
	for _, f := range facets {
		for _, r := range f.items {
			if !r.Throughput.OK() && !r.P50Us.OK() {
				continue
			}
			at, known := seen[r.line]
			switch {
			case known && at > 0:
				plain[at-1].place = min(plain[at-1].place, r.place)
			case known:
				other[-at-1].place = min(other[-at-1].place, r.place)
			case strings.Contains(r.line, " "):
				other = append(other, named{r.line, r.place})
				seen[r.line] = -len(other)
			default:
				plain = append(plain, named{r.line, r.place})
				seen[r.line] = len(plain)
			}
		}
	}
	m := make(map[string]int, len(seen))
	for _, list := range [][]named{plain, other} {
		slices.SortFunc(list, func(a, b named) int { return cmp.Compare(a.place, b.place) })
		for _, n := range list {
			m[n.line] = len(m)
		}
	}
	return m
}

// note is what the rows have in common.
func (s *selection) note(what ...string) string {
	parts := slices.DeleteFunc(append([]string{s.facet.Scenario, s.facet.Mode}, what...), func(p string) bool { return p == "" })
	if s.facet.Loop != "" {
		parts = append(parts, s.facet.Loop+" loop")
	}
	if s.where && s.facet.Where() != "" {
		parts = append(parts, s.facet.Where())
	}
	return strings.Join(parts, " · ")
}

func payloadNote(r item) string {
	if v, ok := r.Payload.Value(); ok {
		return payload(v)
	}
	return ""
}

func subscribersNote(r item) string {
	if r.Subscribers == "" || r.Subscribers == "1" {
		return ""
	}
	return r.Subscribers + " subscribers"
}

func rateNote(r item) string {
	switch r.TargetRPS {
	case "":
		return ""
	case "max":
		return "max rate"
	}
	return amount(number(r.TargetRPS)) + "/s"
}

// add keeps a chart, under a name that no other has.
func (s *selection) add(k Kind, title, note string, draw func() *drawing) {
	name := fileName(string(k) + "-" + note)
	s.names[name]++
	if n := s.names[name]; n > 1 {
		name = fmt.Sprintf("%s--%d", name, n)
	}
	s.out = append(s.out, Chart{k, s.facet, name, title + ": " + note, draw})
}

// fileName keeps letters and digits, so that no text of a CSV leaves the folder.
func fileName(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.' && b.Len() > 0:
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String()[:min(b.Len(), 120)], "-.")
}
