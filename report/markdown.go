package report

import (
	"fmt"
	"strings"

	"msgbench/report/internal/plain"
	"msgbench/results"
	"msgbench/stability"
)

// Document is what a report is made of. Run, Samples, Notes, Strips and Calibrations are there only where the
// journal is.
type Document struct {
	results.Table
	Name         string                          // of the run directory or the CSV, without the folders above it
	Run          *results.Run                    // nil where only the CSV is known
	Samples      map[string][]*stability.Figures // of those that a row joins, by the key of its cell, in the order of the rounds
	Notes        []stability.Note
	Strips       []stability.Strip // for charts
	Calibrations stability.Calibrations
	Cut          int             // bytes at the end of the journal that a crash had cut off and that were left out
	Sides        string          // markdown: the two sides of a run that has them, compared pair by pair
	References   []results.Table // published figures, to be set beside the rows, never among them
}

// AllRows are the rows and those of the references.
func (d *Document) AllRows() []*results.Row {
	var list []*results.Row
	for _, t := range append([]results.Table{d.Table}, d.References...) {
		for i := range t.Rows {
			list = append(list, &t.Rows[i])
		}
	}
	return list
}

// Markdown is the report of a run: how it was measured, a table for each scenario, payload and rate, and the notes.
func Markdown(d Document) string {
	var b strings.Builder
	b.WriteString("# msgbench results\n\n")
	facts(&b, d)
	summary(&b, d.Rows)
	if d.Sides != "" {
		b.WriteString(d.Sides + "\n")
	}
	b.WriteString("## How to read the tables\n\n" + fmt.Sprintf(reading, d.order()) + readingOf(d.Rows) + "\n")
	refs := newReferences(d.References)
	for _, g := range groups(d.Rows) {
		fmt.Fprintf(&b, "## %s\n\n", cell(g.title))
		g.markdown(&b, refs)
	}
	calibrations(&b, d)
	notes(&b, d)
	refs.unused(&b)
	return b.String()
}

const reading = `- Every cell ran in fresh processes, several times, %s; a row joins all its valid samples. Throughput is
  their median, with its interval beside it; percentiles come from their merged histograms.
- Closed loop: the next message goes out when the reply is there. Paced loop: each goes out at its intended time; the
  latency columns then hold the response time (reply − intended), and the svc columns the service time (reply − sent).
- CPU is per cent of one CPU over the window, client and server together. What the pacer spun is apart.
- Samples that others on the machine took too much CPU time from were measured again, a part of all samples at most; those
  beyond that count, and stand in brackets.
- Rows marked ~ are unstable: they keep their figures, but they are not ranked and should not be quoted.
`

// readingOf explains what only some runs have: rows of programs that are not ours.
func readingOf(rows []results.Row) string {
	text := ""
	if anyRow(rows, (*results.Row).OfProcesses) {
		text += "- ≤ before a CPU figure: of the whole processes, with what they used for connecting and warming up.\n"
	}
	if anyRow(rows, func(r *results.Row) bool { return r.Loop == results.Pausing }) {
		text += "- Pausing loop: a program that is not ours sleeps between two messages; its rate is no maximum.\n"
	}
	return text
}

// anyRow is slices.ContainsFunc without a copy of each row, which is large.
func anyRow(rows []results.Row, is func(*results.Row) bool) bool {
	for i := range rows {
		if is(&rows[i]) {
			return true
		}
	}
	return false
}

// order is that of the cells within a round.
func (d Document) order() string {
	if d.Fact("order") != "" {
		return "in the same order in each round (see order above)"
	}
	return "in random order"
}

func facts(b *strings.Builder, d Document) {
	if len(d.Facts) == 0 {
		return
	}
	b.WriteString("| run | |\n|---|---|\n")
	for _, f := range d.Facts {
		fmt.Fprintf(b, "| %s | %s |\n", cell(f.Key), cell(f.Value))
	}
	b.WriteString("\n")
}

// summary counts the verdicts, so that a reader sees at once whether rows are missing.
func summary(b *strings.Builder, rows []results.Row) {
	n := map[string]int{}
	for i := range rows {
		n[rows[i].Verdict]++
	}
	var parts []string
	for _, v := range []string{results.Stable, results.Recovered, results.Oversubscribed, results.Unstable, results.Failed,
		results.Skipped, results.Imported} {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	fmt.Fprintf(b, "%s: %s.\n\n", plural(len(rows), "row"), orText(strings.Join(parts, ", "), "none"))
}

func (g group) markdown(b *strings.Builder, refs *references) {
	paced := g.rate != "max"
	lossy := g.lossy()
	head := []string{"#", "transport", "per second", "interval"}
	if lossy {
		head = append(head, "delivered/s", "lost %")
	}
	head = append(head, "min µs", "p50 µs", "p95 µs", "p99 µs", "p99.9 µs", "max µs")
	if paced {
		head = append(head, "svc p50 µs", "svc p99 µs", "late p99 µs")
	}
	head = append(head, "client CPU %", "server CPU %", "total CPU %", "CPUs", "wait", "samples", "verdict")
	align := make([]string, len(head))
	for i := range align {
		align[i] = "---:"
	}
	for _, left := range []int{1, len(head) - 4, len(head) - 3, len(head) - 1} {
		align[left] = "---"
	}
	with := refs.any(g.plain())
	if with {
		for _, h := range refHead {
			head, align = append(head, h), append(align, "---:")
		}
	}
	safeLine(b, head)
	safeLine(b, align)
	c := make([]string, 0, len(head))
	for _, r := range g.rows {
		c = append(c[:0], r.rankString(), r.name(), count(r.Throughput), span(r.ThroughputLo, r.ThroughputHi, count))
		if lossy {
			c = append(c, count(r.MessagesPerS), lostPct(r.Row))
		}
		c = append(c, exact(r.MinUs, 2), exact(r.P50Us, 2), exact(r.P95Us, 2), exact(r.P99Us, 2), exact(r.P999Us, 2), exact(r.MaxUs, 1))
		if paced {
			c = append(c, exact(r.SvcP50Us, 2), exact(r.SvcP99Us, 2), exact(r.LateP99, 2))
		}
		verdict := verdictText(r.Row)
		if r.Reason != "" {
			verdict += ": " + r.Reason
		}
		c = append(c, cpu(r.Row, r.ClientCPU, 1), cpu(r.Row, r.ServerCPU, 1), cpu(r.Row, r.TotalCPU, 1), r.CPURelation, r.Wait,
			r.samples(), verdict)
		for i := range c {
			c[i] = cell(c[i])
		}
		if with {
			c = append(c, refs.cells(r.Row)...)
		}
		safeLine(b, c)
	}
	b.WriteString("\n")
}

// samples is how many the row joins, and how many of them were disturbed.
func (r ranked) samples() string {
	if n := r.DisturbedKept.Or(0); n > 0 {
		return fmt.Sprintf("%s (%g disturbed)", r.Samples, n)
	}
	return r.Samples.String()
}

func notes(b *strings.Builder, d Document) {
	if len(d.Notes) > 0 || d.Cut > 0 {
		b.WriteString("## Notes\n\n")
		noteList(b, d)
	}
}

func noteList(b *strings.Builder, d Document) {
	if d.Cut > 0 {
		fmt.Fprintf(b, "- The journal ends in the middle of a sample: its last %d bytes were left out.\n", d.Cut)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(b, "- `%s`: %s: %s", code(n.Cell), cell(n.Kind), cell(n.Text))
		if len(n.At) > 0 {
			fmt.Fprintf(b, " (%s)", n.Where())
		}
		b.WriteString("\n")
	}
}

// safeLine writes a line of a table, of cells that are safe already.
func safeLine(b *strings.Builder, cells []string) {
	for _, c := range cells {
		b.WriteString("| ")
		b.WriteString(c)
		b.WriteByte(' ')
	}
	b.WriteString("|\n")
}

// markdownTable writes a table of cells that are safe already, the first columns, as many as left says, aligned left.
func markdownTable(b *strings.Builder, head []string, left int, rows [][]string) {
	tableHead(b, head, left)
	for _, r := range rows {
		safeLine(b, r)
	}
	b.WriteString("\n")
}

// tableHead begins a table, of which safeLine writes the rows.
func tableHead(b *strings.Builder, head []string, left int) {
	safeLine(b, head)
	align := make([]string, len(head))
	for i := range align {
		align[i] = "---:"
		if i < left || head[i] == "note" || head[i] == "verdict" {
			align[i] = "---"
		}
	}
	safeLine(b, align)
}

// cell makes text safe within a table: a CSV may come from anywhere.
func cell(s string) string { return plain.Markdown(s) }

// code makes text safe within `…`.
func code(s string) string { return strings.ReplaceAll(oneLine(s), "`", "'") }
