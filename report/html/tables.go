package html

import (
	"fmt"
	"html/template"
	"runtime"
	"slices"
	"strings"
	"sync"

	"msgbench/report"
	"msgbench/report/charts"
	"msgbench/results"
)

// maxCharts keeps the page of a huge run light; report --charts draws them all.
const maxCharts = 240

// firstRows is how many rows of a table are shown before someone asks for all: thousands take a browser seconds. page.js has
// the same number. The rest stands in a noscript, which a browser that runs scripts takes as a mere text.
const firstRows = 100

// openCharts is how many of a kind stand open; the others are folded.
const openCharts = 2

// sections are the facets of a run in the order in which they first occur. Rows of samples that never measured anything
// don't know their kind of latency: they stand with those of the same scenario and loop.
func sections(id int, d report.Document) []section {
	rows := d.AllRows()
	adopt(rows)
	facets := charts.Split(rows)
	drawn := map[charts.Facet][]charts.Chart{}
	for n, c := range charts.Of(facets, d.Strips) {
		if n < maxCharts {
			drawn[c.Facet] = append(drawn[c.Facet], c)
		}
	}
	var list []section
	for n, f := range facets {
		s := section{ID: fmt.Sprintf("s%d-%d", id, n+1), Title: clean(f.Title()), Where: clean(f.Where())}
		s.table(f.Rows)
		of := map[charts.Kind]int{}
		for _, c := range drawn[f.Facet] {
			of[c.Kind]++
			svg := template.HTML(c.Inline()) // its text is escaped there
			if c.Kind == charts.Samples || of[c.Kind] > openCharts {
				s.Tail = append(s.Tail, svg)
			} else {
				s.Charts = append(s.Charts, svg)
			}
		}
		list = append(list, s)
	}
	return list
}

// adopt fills in the kind of latency of rows that have no figures, in copies of them.
func adopt(rows []*results.Row) {
	if !slices.ContainsFunc(rows, func(r *results.Row) bool { return r.Latency == "" }) {
		return
	}
	key := func(r *results.Row) charts.Facet {
		f := charts.FacetOf(r)
		f.Latency = ""
		return f
	}
	known := map[charts.Facet]string{}
	for _, r := range rows {
		if r.Latency == "" {
			continue
		}
		if k := key(r); known[k] == "" {
			known[k] = r.Latency
		}
	}
	for i, r := range rows {
		if r.Latency != "" {
			continue
		}
		if latency := known[key(r)]; latency != "" {
			own := *r
			own.Latency = latency
			rows[i] = &own
		}
	}
}

// table fills in the columns in which a row has something to say. A template would take ten seconds for 100,000 rows, so
// the rows are written here; every text passes through escape. End tags of cells and rows are left out, as HTML allows:
// they are a fifth of a large page.
func (s *section) table(rows []*results.Row) {
	s.Count = len(rows)
	for _, c := range columns {
		told := func(r *results.Row) bool { v := c.field(r).Text; return v != "" && !(c.Name == "lost" && v == "0") }
		if slices.ContainsFunc(rows, told) {
			s.Head = append(s.Head, c)
		}
	}
	first := min(firstRows, len(rows))
	s.Rows = s.markup(rows[:first])
	// In parts, one for each processor.
	parts := slices.Collect(slices.Chunk(rows[first:], 1+(len(rows)-first)/runtime.GOMAXPROCS(0)))
	s.Late = make([]template.HTML, len(parts))
	var done sync.WaitGroup
	for i, part := range parts {
		done.Go(func() { s.Late[i] = s.markup(part) })
	}
	done.Wait()
}

// markup has a line for each row: page.js cuts it there.
func (s *section) markup(rows []*results.Row) template.HTML {
	var b strings.Builder
	b.Grow(500 * len(rows))
	for _, r := range rows {
		b.WriteString(`<tr class="v-`)
		b.WriteString(escape(clean(r.Verdict)))
		b.WriteString(`" data-k="`)
		writeKeys(&b, r)
		b.WriteString(`">`)
		for _, c := range s.Head {
			f := c.field(r)
			b.WriteString("<td")
			if c.Text {
				b.WriteString(` class="t"`)
			}
			if f.Sort != "" {
				b.WriteString(` data-v="`)
				b.WriteString(escape(f.Sort))
				b.WriteByte('"')
			}
			b.WriteByte('>')
			b.WriteString(escape(f.Text))
		}
		b.WriteByte('\n')
	}
	return template.HTML(b.String())
}

// escape makes text safe as content and within double quotes.
func escape(s string) string {
	for i := range len(s) {
		switch s[i] {
		case '&', '<', '>', '"', '\'', 0:
			return template.HTMLEscapeString(s)
		}
	}
	return s
}
