package html

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"runtime"
	"slices"
	"strconv"
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

// column is the head of a column.
type column struct {
	Name, Hint string
	Text       bool // sorts as text, and stands left
	field      func(*results.Row) field
}

// field is one value: what people read, and what it sorts by where that is something else.
type field struct{ Text, Sort string }

var columns = []column{
	{"transport", "and what differs from the defaults; ~: unstable", true, func(r *results.Row) field { return field{Text: clean(charts.Name(r))} }},
	{"verdict", "", true, func(r *results.Row) field { return field{Text: clean(r.Verdict)} }},
	{"payload B", "without the envelope of 32 bytes", false, plain(func(r *results.Row) results.Num { return r.Payload })},
	{"rate", "target, operations per second", false, func(r *results.Row) field {
		if r.TargetRPS == "max" {
			return field{"max", "1e18"}
		}
		return field{Text: clean(r.TargetRPS)}
	}},
	{"per second", "operations: median of the samples", false, func(r *results.Row) field { return field{count(r.Throughput), r.Throughput.String()} }},
	{"interval", "of the throughput", false, func(r *results.Row) field {
		if !r.ThroughputLo.OK() || !r.ThroughputHi.OK() {
			return field{}
		}
		return field{count(r.ThroughputLo) + " – " + count(r.ThroughputHi), r.ThroughputLo.String()}
	}},
	{"min µs", "", false, micros(func(r *results.Row) results.Num { return r.MinUs })},
	{"p50 µs", "", false, micros(func(r *results.Row) results.Num { return r.P50Us })},
	{"p90 µs", "", false, micros(func(r *results.Row) results.Num { return r.P90Us })},
	{"p95 µs", "", false, micros(func(r *results.Row) results.Num { return r.P95Us })},
	{"p99 µs", "", false, micros(func(r *results.Row) results.Num { return r.P99Us })},
	{"p99.9 µs", "", false, micros(func(r *results.Row) results.Num { return r.P999Us })},
	{"max µs", "", false, micros(func(r *results.Row) results.Num { return r.MaxUs })},
	{"svc p50 µs", "service time: reply − sent", false, micros(func(r *results.Row) results.Num { return r.SvcP50Us })},
	{"svc p95 µs", "service time: reply − sent", false, micros(func(r *results.Row) results.Num { return r.SvcP95Us })},
	{"svc p99 µs", "service time: reply − sent", false, micros(func(r *results.Row) results.Num { return r.SvcP99Us })},
	{"late p99 µs", "own lateness of the sender", false, micros(func(r *results.Row) results.Num { return r.LateP99 })},
	{"MB/s", "payload received, 10⁶ bytes", false, decimals(1, func(r *results.Row) results.Num { return r.MBPerS })},
	{"CPU %", "client, server and broker; 100 is one CPU; ≤: of whole processes, with their warm-up", false, cpu},
	{"lost", "messages", false, plain(func(r *results.Row) results.Num { return r.Lost })},
	{"CPUs", "how those of the two sides are related", true, func(r *results.Row) field { return field{Text: clean(r.CPURelation)} }},
	{"wait", "", true, func(r *results.Row) field { return field{Text: clean(r.Wait)} }},
	{"samples", "valid ones", false, plain(func(r *results.Row) results.Num { return r.Samples })},
	{"drift", "of throughput at max, else of p50 of the service time, over the rounds, where it is more than noise", true, func(r *results.Row) field { return field{Text: drift(r)} }},
	{"reason", "of the verdict", true, func(r *results.Row) field { return field{Text: clean(r.Reason)} }},
}

// drift is how a row drifts over the rounds, where that is more than noise.
func drift(r *results.Row) string {
	v, ok := r.DriftPct.Value()
	if r.Trend == "" || !ok {
		return clean(r.Trend)
	}
	return fmt.Sprintf("%s %.3g %%", clean(r.Trend), math.Abs(v))
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
		b.WriteString(`<tr class="v-` + escape(clean(r.Verdict)) + `" data-k="` + escape(keys(r)) + `">`)
		for _, c := range s.Head {
			f := c.field(r)
			b.WriteString("<td")
			if c.Text {
				b.WriteString(` class="t"`)
			}
			if f.Sort != "" {
				b.WriteString(` data-v="` + escape(f.Sort) + `"`)
			}
			b.WriteString(">" + escape(f.Text))
		}
		b.WriteByte('\n')
	}
	return template.HTML(b.String())
}

// escape makes text safe as content and within double quotes.
func escape(s string) string {
	if !strings.ContainsAny(s, "&<>\"'\x00") {
		return s
	}
	return template.HTMLEscapeString(s)
}

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

func keys(r *results.Row) string {
	var b strings.Builder
	for i, c := range filterColumns {
		if i > 0 {
			b.WriteByte('|')
		}
		b.WriteString(key(c.of(r)))
	}
	return b.String()
}

// filters offer what occurs; one value is no choice, but its place in the keys stays.
func filters(docs []report.Document) []filter {
	var all [][]*results.Row
	for _, d := range docs {
		all = append(all, d.AllRows())
	}
	list := make([]filter, len(filterColumns))
	for i, c := range filterColumns {
		seen := map[string]bool{}
		list[i].Name = c.name
		for _, rows := range all {
			for _, r := range rows {
				raw := c.of(r)
				if seen[raw] {
					continue
				}
				seen[raw] = true
				if k := key(raw); k != "" && !slices.Contains(list[i].Choices, k) {
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

func plain(of func(*results.Row) results.Num) func(*results.Row) field {
	return func(r *results.Row) field { return field{Text: of(r).String()} }
}

func decimals(n int, of func(*results.Row) results.Num) func(*results.Row) field {
	return func(r *results.Row) field {
		v, ok := of(r).Value()
		if !ok {
			return field{}
		}
		return field{Text: strconv.FormatFloat(v, 'f', n, 64)}
	}
}

// cpu marks an upper bound.
func cpu(r *results.Row) field {
	f := decimals(0, func(r *results.Row) results.Num { return r.TotalCPU })(r)
	if f.Text != "" && r.OfProcesses() {
		return field{"≤ " + f.Text, f.Text}
	}
	return f
}

// micros shows the digits that matter to people and sorts by them all.
func micros(of func(*results.Row) results.Num) func(*results.Row) field {
	return func(r *results.Row) field {
		v, ok := of(r).Value()
		if !ok {
			return field{}
		}
		digits := 2
		switch {
		case v >= 1000:
			digits = 0
		case v >= 100:
			digits = 1
		}
		return field{Text: strconv.FormatFloat(v, 'f', digits, 64)}
	}
}

// count is a rate for people: 2.48M, 65.3k, 998.
func count(n results.Num) string {
	v, ok := n.Value()
	switch {
	case !ok:
		return ""
	case v >= 999_950:
		return strconv.FormatFloat(v/1e6, 'f', 2, 64) + "M"
	case v >= 999.5:
		return strconv.FormatFloat(v/1e3, 'f', 1, 64) + "k"
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
