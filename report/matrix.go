package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"msgbench/results"
)

// Matrix is the page that netipc publishes: what was to be measured and what was, then for each scenario over each
// transport a table of client and server pairs for each rate, lookups, and floors.
func Matrix(d Document) string {
	var b strings.Builder
	matrixHeader(&b, d)
	v := validate(d)
	if v.known {
		fmt.Fprintf(&b, "Complete matrix rows expected: %d\n\n", v.expected)
	} else {
		b.WriteString("Complete matrix rows expected: not known (a CSV alone does not tell what was planned; name the run directory)\n\n")
	}
	b.WriteString("## Methodology\n\n")
	b.WriteString(serviceTimes)
	methodology(&b, d)
	b.WriteString("## Validation Summary\n\n")
	v.markdown(&b)
	b.WriteString("## Benchmark Notes\n\n")
	if len(d.Notes) == 0 && d.Cut == 0 {
		if d.Run == nil {
			b.WriteString("- Not known: reruns and outliers stand in the journal, and this page is made from a CSV alone.\n")
		} else {
			b.WriteString("- No reruns, no raw outliers, no rejected samples.\n")
		}
	}
	noteList(&b, d)
	b.WriteString("\n")
	refs := newReferences(d.References)
	for _, s := range sections(d.Rows) {
		s.markdown(&b, refs)
	}
	matrixFloors(&b, d)
	refs.unused(&b)
	return b.String()
}

const serviceTimes = `- p50, p95 and p99 are service times: from the moment a request was sent to its reply, also at a fixed rate. What a request
  waited because an earlier one was late is not in them; rows that were measured from the intended time have it in the
  response columns.
`

func matrixHeader(b *strings.Builder, d Document) {
	b.WriteString("# Benchmark Results\n\n")
	fmt.Fprintf(b, "Generated: %s\n\n", cell(orText(d.Fact("date"), "not stated")))
	fmt.Fprintf(b, "Machine: %s\n\n", cell(orText(d.Fact("machine"), "not stated")))
	csv := d.Name
	if d.Run != nil {
		csv += "/" + results.CSVFile
	}
	fmt.Fprintf(b, "CSV: %s\n\n", cell(csv))
}

// section is the rows of one scenario over one transport.
type section struct {
	title string
	rows  []*results.Row
}

// sections sorts rows into sections. Payload, dimensions and machine stand in the title where there are several of them.
func sections(rows []results.Row) []section {
	type name struct{ scenario, transport string }
	type key struct {
		name
		payload, dims, machine string
	}
	var names []name
	variants := map[name][]key{}
	byKey := map[key][]*results.Row{}
	machines := map[string]bool{}
	for i := range rows {
		r := &rows[i]
		n := name{r.Scenario, r.Transport}
		k := key{n, r.Payload.String(), variant(r), r.Machine}
		if len(variants[n]) == 0 {
			names = append(names, n)
		}
		if len(byKey[k]) == 0 {
			variants[n] = append(variants[n], k)
		}
		byKey[k] = append(byKey[k], r)
		machines[r.Machine] = true
	}
	slices.SortStableFunc(names, func(a, b name) int {
		return cmp.Compare(scenarioOrder(a.scenario), scenarioOrder(b.scenario))
	})
	var out []section
	for _, n := range names {
		v := variants[n]
		slices.SortStableFunc(v, func(a, b key) int { return cmp.Compare(number(a.payload), number(b.payload)) })
		for _, k := range v {
			s := section{title: scenarioTitle(n.scenario, n.transport), rows: byKey[k]}
			var more []string
			if len(v) > 1 {
				if k.payload != "" {
					more = append(more, k.payload+" B")
				}
				more = append(more, strings.Fields(strings.ReplaceAll(k.dims, "/", " "))...)
			}
			if len(machines) > 1 {
				more = append(more, k.machine)
			}
			if len(more) > 0 {
				s.title += " (" + strings.Join(more, ", ") + ")"
			}
			out = append(out, s)
		}
	}
	return out
}

// variant is the dimensions of a row, but for the run that it is of: runs stand in one table.
func variant(r *results.Row) string {
	var parts []string
	for _, p := range strings.Split(dims(r), "/") {
		if p != "" && !strings.HasPrefix(p, "run=") {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/")
}

func (s section) markdown(b *strings.Builder, refs *references) {
	fmt.Fprintf(b, "## %s\n\n", cell(s.title))
	if s.rows[0].Scenario == "lookup" {
		s.lookup(b)
		return
	}
	byRate := map[string][]*results.Row{}
	var rates []string
	for _, r := range s.rows {
		if len(byRate[r.TargetRPS]) == 0 {
			rates = append(rates, r.TargetRPS)
		}
		byRate[r.TargetRPS] = append(byRate[r.TargetRPS], r)
	}
	slices.SortStableFunc(rates, func(a, b string) int { return -cmp.Compare(rate(a), rate(b)) })
	for _, t := range rates {
		if t == "max" {
			b.WriteString("### Max throughput\n\n")
		} else {
			fmt.Fprintf(b, "### %s req/s target\n\n", cell(t))
		}
		pairs(b, byRate[t], refs)
	}
}

// pairs is the table of one rate.
func pairs(b *strings.Builder, rows []*results.Row, refs *references) {
	byPair(rows)
	head := []string{"Client", "Server", "Throughput", "p50 (us)", "p95 (us)", "p99 (us)", "Client CPU", "Server CPU", "Total CPU"}
	response, brokered := false, false
	var kinds []string
	for _, r := range rows {
		response = response || r.Latency == results.Response
		brokered = brokered || r.BrokerCPU.OK()
		if r.Latency != "" && !slices.Contains(kinds, r.Latency) {
			kinds = append(kinds, r.Latency)
		}
	}
	if response {
		head = append(head, "response p50 (us)", "response p95 (us)", "response p99 (us)")
	}
	if brokered {
		head = append(head, "Broker CPU")
	}
	lost := lossy(rows)
	if lost {
		head = append(head, "Delivered/s", "Lost %")
	}
	with := refs.any(rows)
	if with {
		head = append(head, refHead...)
	}
	if len(kinds) > 0 && (len(kinds) > 1 || kinds[0] != results.RTT && kinds[0] != results.Response && kinds[0] != results.Service) {
		for i := range kinds {
			kinds[i] = latencyName(kinds[i])
		}
		fmt.Fprintf(b, "p50, p95 and p99: %s.\n\n", cell(strings.Join(kinds, ", ")))
	}
	tableHead(b, head, 2)
	c := make([]string, 0, len(head))
	for _, r := range rows {
		p50, p95, p99 := service(r)
		c = append(c[:0], pairMark(r)+cell(r.Client), cell(r.Server), throughputOrVerdict(r),
			exact(p50, 3), exact(p95, 3), exact(p99, 3), percent(r.ClientCPU), percent(r.ServerCPU), percent(r.TotalCPU))
		if response {
			p50, p95, p99 := r.P50Us, r.P95Us, r.P99Us
			if r.Latency != results.Response {
				p50, p95, p99 = results.Num{}, results.Num{}, results.Num{}
			}
			c = append(c, exact(p50, 3), exact(p95, 3), exact(p99, 3))
		}
		if brokered {
			c = append(c, percent(r.BrokerCPU))
		}
		if lost {
			c = append(c, count(r.MessagesPerS), lostPct(r))
		}
		if with {
			c = append(c, refs.cells(r)...)
		}
		safeLine(b, c)
	}
	b.WriteString("\n")
}

// lookup is the table of a scenario that has neither a server nor a latency.
func (s section) lookup(b *strings.Builder) {
	byPair(s.rows)
	var lines [][]string
	for _, r := range s.rows {
		lines = append(lines, []string{pairMark(r) + cell(r.Client), throughputOrVerdict(r), percent(r.ClientCPU), percent(r.TotalCPU)})
	}
	markdownTable(b, []string{"Language", "Throughput", "Client CPU", "Total CPU"}, 1, lines)
}

func byPair(rows []*results.Row) {
	slices.SortStableFunc(rows, func(a, b *results.Row) int {
		return cmp.Or(strings.Compare(a.Client, b.Client), strings.Compare(a.Server, b.Server))
	})
}

// pairMark stands before the client of a row that is not to be relied on.
func pairMark(r *results.Row) string {
	if r.Verdict == results.Unstable {
		return "~ "
	}
	return ""
}

func throughputOrVerdict(r *results.Row) string {
	if r.Verdict == results.Failed || r.Verdict == results.Skipped {
		return r.Verdict
	}
	return count(r.Throughput)
}

// service gives the service times of a row: its main columns, unless they are response times.
func service(r *results.Row) (p50, p95, p99 results.Num) {
	if r.Latency == results.Response {
		return r.SvcP50Us, r.SvcP95Us, r.SvcP99Us
	}
	return r.P50Us, r.P95Us, r.P99Us
}

func percent(n results.Num) string {
	if !n.OK() {
		return ""
	}
	return exact(n, 3) + "%"
}
