package report

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"msgbench/results"
	"msgbench/stability"
)

// Ranking is the tables for a terminal: one a group, ranked.
func Ranking(rows []results.Row) string {
	var b strings.Builder
	for _, g := range groups(rows) {
		b.WriteString(g.title + "\n")
		b.WriteString(g.text())
		b.WriteString("\n\n")
	}
	if legend := Legend(rows); legend != "" {
		b.WriteString(legend + "\n")
	}
	return b.String()
}

func (g group) text() string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	style := t.Style()
	style.Options.DrawBorder, style.Options.SeparateColumns = false, false
	style.Format.Header = text.FormatDefault
	head := table.Row{"#", "transport", "per second", "interval"}
	if g.lossy() {
		head = append(head, "delivered/s", "lost %")
	}
	head = append(head, "p50 µs", "p99 µs", "CPU %", "verdict")
	right := []int{1, 3}
	for n := 5; n < len(head); n++ {
		right = append(right, n)
	}
	var configs []table.ColumnConfig
	for _, n := range right {
		configs = append(configs, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(head)
	for _, r := range g.rows {
		row := table.Row{r.rankString(), r.name(), count(r.Throughput), span(r.ThroughputLo, r.ThroughputHi, count)}
		if g.lossy() {
			row = append(row, count(r.MessagesPerS), lostPct(r.Row))
		}
		t.AppendRow(append(row, micros(r.P50Us), micros(r.P99Us), cpu(r.Row, r.TotalCPU, 0), verdictText(r.Row)))
	}
	s := trimRight(t.Render())
	// Reasons stand below: in the table they would make every line wrap.
	for _, r := range g.rows {
		if r.Reason != "" && !results.Publishable(r.Verdict) {
			s += fmt.Sprintf("\n  %s: %s", r.name(), oneLine(r.Reason))
		}
	}
	return s
}

// Precision says in a line how many rows are as precise as the run was to be; empty where it had no precision.
func Precision(d Document) string {
	n := map[string]int{}
	for _, note := range d.Notes {
		n[note.Kind]++
	}
	if all := n[stability.NotePrecise] + n[stability.NoteImprecise]; all > 0 && d.Run != nil {
		return fmt.Sprintf("±%g %% reached by %d of %s; the notes of the report say how precise each is\n", 100*d.Run.Policy.Precision, n[stability.NotePrecise], plural(all, "row"))
	}
	return ""
}

func trimRight(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// drifts counts rows whose metric drifts.
const drifts = "drifts"

// Legend explains the marks that the rows need, in a line; empty if none.
func Legend(rows []results.Row) string {
	n := map[string]int{}
	for _, r := range rows {
		n[r.Verdict]++
		if r.Trend != "" {
			n[drifts]++
		}
	}
	var parts []string
	if k := n[results.Unstable]; k > 0 {
		parts = append(parts, fmt.Sprintf("~ %s: not to be relied on, not ranked", plural(k, "unstable row")))
	}
	if k := n[drifts]; k > 0 {
		parts = append(parts, plural(k, "row")+" falling or rising: over the rounds, by more than noise")
	}
	if k := n[results.Failed]; k > 0 {
		parts = append(parts, plural(k, "cell")+" failed")
	}
	if k := n[results.Skipped]; k > 0 {
		parts = append(parts, plural(k, "cell")+" skipped")
	}
	if anyRow(rows, func(r *results.Row) bool { return r.OfProcesses() && r.TotalCPU.OK() }) {
		parts = append(parts, "≤ CPU of whole processes, with their warm-up")
	}
	return strings.Join(parts, "; ")
}
