package html

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"msgbench/report"
	"msgbench/results"
)

// filter is a choice of values of one column.
type filter struct {
	Name    string
	Choices []string
}

var filterColumns = []struct {
	name string
	of   func(*results.Row) string
}{
	{"scenario", func(r *results.Row) string { return r.Scenario }},
	{"transport", func(r *results.Row) string { return r.Transport }},
	{"peers", func(r *results.Row) string { return strings.Trim(r.Client+"-"+r.Server, "-") }},
	{"payload", func(r *results.Row) string { return r.Payload.String() }},
	{"rate", func(r *results.Row) string { return r.TargetRPS }},
	{"verdict", func(r *results.Row) string { return r.Verdict }},
}

// key is a value as the filters compare it.
func key(s string) string { return strings.ReplaceAll(clean(s), "|", "/") }

// writeKeys writes the values of a row, for an attribute.
func writeKeys(b *strings.Builder, r *results.Row) {
	for i, c := range filterColumns {
		if i > 0 {
			b.WriteByte('|')
		}
		b.WriteString(escape(key(c.of(r))))
	}
}

// filters offer what occurs; one value is no choice, but its place in the keys stays.
func filters(docs []report.Document) []filter {
	var all [][]*results.Row
	for _, d := range docs {
		all = append(all, d.AllRows())
	}
	list := make([]filter, len(filterColumns))
	for i, c := range filterColumns {
		seen, offered := map[string]bool{}, map[string]bool{"": true}
		list[i].Name = c.name
		for _, rows := range all {
			for _, r := range rows {
				raw := c.of(r)
				if seen[raw] {
					continue
				}
				seen[raw] = true
				if k := key(raw); !offered[k] {
					offered[k] = true
					list[i].Choices = append(list[i].Choices, k)
				}
			}
		}
		slices.SortFunc(list[i].Choices, func(a, b string) int { return cmp.Or(cmp.Compare(size(a), size(b)), cmp.Compare(a, b)) })
	}
	return list
}

// size sorts numbers by value, before text.
func size(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 1e300
	}
	return v
}
