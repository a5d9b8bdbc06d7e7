package export

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"msgbench/report/internal/plain"
	"msgbench/report/source"
	"msgbench/results"
)

// openMetrics has a gauge for each column of numbers, in base units, and an info metric with the verdict of every row.
// Figures of rows that can't be relied on are left out: no label would keep a graph from showing them.
func openMetrics(set *source.Set) (Result, error) {
	var r Result
	var b bytes.Buffer
	b.WriteString("# TYPE msgbench_row info\n# HELP msgbench_row What became of a cell.\n")
	var rows []*results.Row
	for i := range set.Cells {
		row := &set.Cells[i].Row
		fmt.Fprintf(&b, "msgbench_row_info%s 1\n", labels(row, "verdict", "loop", "latency", "source"))
		if row.Verdict == results.Imported || r.usable(row) {
			rows = append(rows, row)
		}
	}
	r.Rows = len(rows)
	for _, column := range results.Numbers() {
		if column == "payload_bytes" { // a label
			continue
		}
		f := familyOf(column)
		head := false
		for _, row := range rows {
			n, _ := row.Number(column)
			v, ok := n.Value()
			if !ok {
				continue
			}
			if !head {
				fmt.Fprintf(&b, "# TYPE %s gauge\n", f.name)
				if f.unit != "" {
					fmt.Fprintf(&b, "# UNIT %s %s\n", f.name, f.unit)
				}
				fmt.Fprintf(&b, "# HELP %s Column %s of the CSV.\n", f.name, column)
				head = true
			}
			fmt.Fprintf(&b, "%s%s %s\n", f.name, labels(row), f.value(v))
		}
	}
	b.WriteString("# EOF\n")
	r.Data = b.Bytes()
	return r, nil
}

// family is the metric of a column: its figures are divided by divisor to have the base unit, which ends the name.
type family struct {
	name, unit string
	divisor    float64
}

func familyOf(column string) family {
	const prefix = "msgbench_"
	switch column {
	case "mb_per_s":
		return family{prefix + "payload_bytes_per_second", "bytes_per_second", 1e-6}
	case "cpu_ns_per_op":
		return family{prefix + "cpu_per_operation_seconds", "seconds", 1e9}
	case "messages_per_s":
		return family{prefix + "messages_per_second", "", 1}
	case "throughput", "throughput_lo", "throughput_hi":
		return family{prefix + column + "_operations_per_second", "", 1}
	}
	if s, ok := strings.CutSuffix(column, "_us"); ok {
		return family{prefix + s + "_seconds", "seconds", 1e6}
	}
	if plain.Unit(column) == "µs" { // the bounds of a percentile
		return family{prefix + column + "_seconds", "seconds", 1e6}
	}
	if s, ok := strings.CutSuffix(column, "_pct"); ok {
		return family{prefix + s + "_ratio", "ratio", 100}
	}
	if strings.HasSuffix(column, "_bytes") {
		return family{prefix + column, "bytes", 1}
	}
	return family{prefix + column, "", 1}
}

// value is a figure of the column in the base unit; a quotient without the noise of its last digits.
func (f family) value(v float64) string {
	if f.divisor == 1 {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v/f.divisor, 'g', 12, 64)
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labels are those that tell one row from another, and more.
func labels(row *results.Row, more ...string) string {
	var parts []string
	for _, column := range append([]string{"cell", "scenario", "transport", "client", "server", "payload_bytes", "target_rps", "machine"}, more...) {
		if v, _ := row.Text(column); v != "" {
			parts = append(parts, column+`="`+labelEscapes.Replace(strings.ToValidUTF8(v, "\uFFFD"))+`"`)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}
