package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"msgbench/report/internal/plain"
)

// Formats are the names that Write knows.
var Formats = []string{"text", "markdown", "csv", "json"}

// Write gives a result in one of Formats.
func Write(r Result, format string) ([]byte, error) {
	switch format {
	case "text":
		return []byte(asText(r)), nil
	case "markdown":
		return []byte(asMarkdown(r)), nil
	case "csv":
		return asCSV(r)
	case "json":
		return asJSON(r)
	}
	return nil, fmt.Errorf("unknown format %q (want %s)", format, strings.Join(Formats, ", "))
}

// percent is a share as per cent: 5 %.
func percent(v float64) string { return strconv.FormatFloat(v*100, 'f', -1, 64) + " %" }

// change is a ratio as per cent: +3.1 %.
func change(ratio float64) string { return fmt.Sprintf("%+.1f %%", (ratio-1)*100) }

func pText(p float64) string {
	if p < 0.0001 {
		return "< 0.0001"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

// head are the columns for people.
func (r Result) head() []string {
	h := []string{"outcome", "cell", "metric", "old", "new", "change", "interval", "p (Holm)", "samples"}
	if r.Sides != nil {
		h[1], h[3], h[4], h[8] = "cell A", "A", "B", "pairs"
	}
	return h
}

// fields are the columns of a cell for people.
func (c Cell) fields() []string {
	f := []string{c.Outcome, plain.OneLine(c.Key), c.Metric, figure(c.Metric, c.Old.Value), figure(c.Metric, c.New.Value), "", "", "", ""}
	if c.Tested {
		f[5], f[6], f[7] = change(c.Ratio), change(c.Lo)+" … "+change(c.Hi), pText(c.PHolm)
		f[8] = fmt.Sprintf("%d, %d", c.NOld, c.NNew)
		if c.KeyB != "" {
			f[8] = fmt.Sprint(c.NOld)
		}
	}
	return f
}

func figure(column string, value func() (float64, bool)) string {
	v, ok := value()
	if !ok {
		return ""
	}
	return plain.Figure(column, v) + unit(column)
}

func unit(column string) string {
	u := plain.Unit(column)
	if strings.HasPrefix(u, "/") || u == "" {
		return u
	}
	return " " + u
}

// ordered are the cells as people want to see them: what got worse first, the largest change first.
func (r Result) ordered() []Cell {
	var list []Cell
	for _, outcome := range []string{Worse, Better, Unsure, Same} {
		from := len(list)
		for _, c := range r.Cells {
			if c.Outcome == outcome {
				list = append(list, c)
			}
		}
		if outcome == Worse || outcome == Better {
			slices.SortStableFunc(list[from:], func(a, b Cell) int {
				switch x, y := max(a.Ratio, 1/a.Ratio), max(b.Ratio, 1/b.Ratio); {
				case x > y:
					return -1
				case x < y:
					return 1
				}
				return 0
			})
		}
	}
	return list
}

// summary is "2 worse, 1 better, 3 unsure, 4 same of 10 cells".
func (r Result) summary() string {
	var parts []string
	for _, o := range []string{Worse, Better, Unsure, Same} {
		parts = append(parts, fmt.Sprintf("%d %s", r.Count(o), o))
	}
	return fmt.Sprintf("%s of %s", strings.Join(parts, ", "), plain.Plural(len(r.Cells), r.unit()))
}

func (r Result) names() names {
	if r.Sides != nil {
		return sides
	}
	return runs
}

// unit is what there is a line of.
func (r Result) unit() string {
	if r.Sides != nil {
		return "pair"
	}
	return "cell"
}

// method says in lines how to read the figures.
func (r Result) method() []string {
	if r.Sides != nil {
		return []string{
			"change is B / A − 1: the median of the ratios of the two samples of each round, with its interval by order statistics" + r.levels(),
			fmt.Sprintf("same: the whole interval is within ±%s; better, worse: B is, the interval does not hold 0 %%, and p (Student's "+
				"paired t, of logarithms, Holm over %s) is at most %g",
				percent(r.Margin), plain.Plural(r.Tests, "test"), alpha),
		}
	}
	return []string{
		"change is new / old − 1: the median of the ratios of all pairs of samples, with its 95 % interval by ranks",
		fmt.Sprintf("same: the whole interval is within ±%s; better, worse: the interval does not hold 0 %%, and p (Welch, of "+
			"logarithms, Holm over %s) is at most %g",
			percent(r.Margin), plain.Plural(r.Tests, "test"), alpha),
	}
}

// levels are those of the intervals, which depend on the number of pairs.
func (r Result) levels() string {
	var of []string
	for _, c := range r.Cells {
		if level := fmt.Sprintf("%.4g %% for %d pairs", c.Level*100, c.NOld); c.Tested && !slices.Contains(of, level) {
			of = append(of, level)
		}
	}
	if len(of) == 0 {
		return ""
	}
	slices.Sort(of)
	return " (" + strings.Join(of, ", ") + ")"
}

func (r Result) mean(m Mean) string {
	return fmt.Sprintf("geometric mean of %s over %s: %s", m.Metric, plain.Plural(m.Cells, r.unit()), change(m.Ratio))
}

func asText(r Result) string {
	var b strings.Builder
	if r.Sides != nil {
		fmt.Fprintf(&b, "%s: two sides, measured next to each other in each round\nA: %s\nB: %s\n", plain.OneLine(r.Path), plain.OneLine(r.Old), plain.OneLine(r.New))
	} else {
		fmt.Fprintf(&b, "old %s\nnew %s\n", plain.OneLine(r.Old), plain.OneLine(r.New))
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "%s differs: old %s, new %s\n", plain.OneLine(d.Fact), orNone(d.Old), orNone(d.New))
	}
	for _, line := range r.calibrationLines() {
		fmt.Fprintln(&b, plain.OneLine(line))
	}
	b.WriteString("\n")
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	style := t.Style()
	style.Options.DrawBorder, style.Options.SeparateColumns = false, false
	style.Format.Header = text.FormatDefault
	head := r.head()
	var configs []table.ColumnConfig
	for n := 4; n <= len(head); n++ {
		configs = append(configs, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	row := func(fields []string) table.Row {
		var tr table.Row
		for _, f := range fields {
			tr = append(tr, f)
		}
		return tr
	}
	t.AppendHeader(row(head))
	cells := r.ordered()
	for _, c := range cells {
		t.AppendRow(row(c.fields()))
	}
	if len(cells) > 0 {
		for line := range strings.SplitSeq(t.Render(), "\n") {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	for _, c := range cells {
		if c.Reason != "" && c.Reason != r.Moved() { // said above, for all
			fmt.Fprintf(&b, "  %s: %s\n", plain.OneLine(c.Key), plain.OneLine(c.Reason))
		}
	}
	for _, only := range []struct {
		where string
		keys  []string
	}{{r.names().old, r.OnlyOld}, {r.names().new, r.OnlyNew}} {
		for _, k := range only.keys {
			fmt.Fprintf(&b, "only in %s: %s\n", only.where, plain.OneLine(k))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", r.summary())
	for _, m := range r.Means {
		fmt.Fprintln(&b, r.mean(m))
	}
	for _, line := range r.method() {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

func orNone(s string) string {
	if s = plain.OneLine(s); s == "" {
		return "none"
	}
	return s
}

func asMarkdown(r Result) string {
	var b strings.Builder
	if r.Sides != nil {
		fmt.Fprintf(&b, "## Two sides\n\n%s, measured next to each other in each round. A: %s. B: %s. **%s**.\n\n",
			plain.Markdown(r.Path), plain.Markdown(r.Old), plain.Markdown(r.New), r.summary())
	} else {
		fmt.Fprintf(&b, "## Comparison\n\n%s → %s: **%s**.\n\n", plain.Markdown(r.Old), plain.Markdown(r.New), r.summary())
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "- %s differs: %s → %s\n", plain.Markdown(d.Fact), plain.Markdown(orNone(d.Old)), plain.Markdown(orNone(d.New)))
	}
	for _, line := range r.calibrationLines() {
		fmt.Fprintf(&b, "- %s\n", plain.Markdown(line))
	}
	if len(r.Differences) > 0 || len(r.calibrationLines()) > 0 {
		b.WriteString("\n")
	}
	if len(r.Cells) > 0 {
		head := r.head()
		b.WriteString("| " + strings.Join(append(slices.Clone(head), "note"), " | ") + " |\n")
		b.WriteString("|---|---|---|" + strings.Repeat("---:|", len(head)-3) + "---|\n")
	}
	for _, c := range r.ordered() {
		for _, f := range append(c.fields(), c.Reason) {
			b.WriteString("| " + plain.Markdown(f) + " ")
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n")
	for _, k := range r.OnlyOld {
		fmt.Fprintf(&b, "- only in %s: %s\n", r.names().old, plain.Markdown(k))
	}
	for _, k := range r.OnlyNew {
		fmt.Fprintf(&b, "- only in %s: %s\n", r.names().new, plain.Markdown(k))
	}
	for _, m := range r.Means {
		fmt.Fprintf(&b, "- %s\n", plain.Markdown(r.mean(m)))
	}
	for _, line := range r.method() {
		fmt.Fprintf(&b, "- %s\n", plain.Markdown(line))
	}
	return b.String()
}
