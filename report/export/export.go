// Package export writes rows and samples in the formats of other programs.
package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"msgbench/report/internal/plain"
	"msgbench/report/source"
	"msgbench/results"
)

// Result is what was written, and which rows were not.
type Result struct {
	Data    []byte
	Rows    int      // that were written
	LeftOut []string // a line each: the key and why
}

// format writes the rows of a set. Its errors are those of the input.
type format struct {
	name, summary string
	write         func(*source.Set) (Result, error)
	columns       []string // that it takes of each sample
}

var formats = []format{
	{"gobench", "Go benchmark text, a line a sample, for benchstat", goBench, goBenchColumns()},
	{"netipc", "the 11 columns of netdata/plugin-ipc's CSV", netipc, nil},
	{"jsonl", "a JSON object a row, with the columns of the CSV; all rows, whatever their verdict", jsonLines, nil},
	{"openmetrics", "OpenMetrics text, in base units", openMetrics, nil},
	{"github-bigger", "customBiggerIsBetter of github-action-benchmark: throughput at max", githubBigger, nil},
	{"github-smaller", "customSmallerIsBetter of github-action-benchmark: latencies in µs", githubSmaller, nil},
}

// Formats are the names that Write knows, each with a line about it.
func Formats() [][2]string {
	out := make([][2]string, len(formats))
	for i, f := range formats {
		out[i] = [2]string{f.name, f.summary}
	}
	return out
}

// Columns are those that a set must have been loaded with, to be written in one of Formats.
func Columns(name string) []string {
	for _, f := range formats {
		if f.name == name {
			return f.columns
		}
	}
	return nil
}

// Write exports a set in one of Formats. Only rows that can be relied on are written where others can't be marked.
func Write(set source.Set, name string) (Result, error) {
	for _, f := range formats {
		if f.name == name {
			return f.write(&set)
		}
	}
	return Result{}, fmt.Errorf("unknown format %q", name)
}

// usable tells whether a row may be exported where nothing would mark it; if not, it is noted.
func (r *Result) usable(row *results.Row) bool {
	if results.Publishable(row.Verdict) {
		return true
	}
	why := row.Verdict
	if row.Reason != "" {
		why += ": " + row.Reason
	}
	r.leave(row, why)
	return false
}

func (r *Result) leave(row *results.Row, why string) {
	r.LeftOut = append(r.LeftOut, plain.OneLine(row.Cell+": "+why))
}

// jsonLines has null for what was not measured.
func jsonLines(set *source.Set) (Result, error) {
	var b bytes.Buffer
	columns := results.Columns()
	for i := range set.Cells {
		row := &set.Cells[i].Row
		for k, column := range columns {
			b.WriteString(map[bool]string{true: "{", false: ","}[k == 0])
			fmt.Fprintf(&b, "%q:", column)
			if n, ok := row.Number(column); !ok {
				text, _ := row.Text(column)
				b.WriteString(jsonString(text))
			} else if n.OK() {
				b.WriteString(n.String())
			} else {
				b.WriteString("null")
			}
		}
		b.WriteString("}\n")
	}
	return Result{Data: b.Bytes(), Rows: len(set.Cells)}, nil
}

func jsonString(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be written
	return strings.TrimSuffix(b.String(), "\n")
}

// entry is one of github-action-benchmark.
type entry struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Range string  `json:"range,omitempty"`
	Extra string  `json:"extra,omitempty"`
}

func githubBigger(set *source.Set) (Result, error) {
	return github(set, func(r *results.Row) []entry {
		if r.TargetRPS != "max" {
			return nil
		}
		e := entry{Name: r.Cell, Unit: "ops/s"}
		n, lo, hi := r.Throughput, r.ThroughputLo, r.ThroughputHi
		if r.Scenario == "broadcast" { // who drops more publishes more
			e.Unit = "messages/s"
			n, lo, hi = r.Speed()
		}
		v, ok := n.Value()
		if !ok {
			return nil
		}
		e.Value, e.Range = v, between(lo, hi)
		return []entry{e}
	})
}

func githubSmaller(set *source.Set) (Result, error) {
	return github(set, func(r *results.Row) []entry {
		list := []entry{}
		add := func(name string, n, lo, hi results.Num) {
			if v, ok := n.Value(); ok {
				list = append(list, entry{Name: r.Cell + " " + name, Unit: "us", Value: v, Range: between(lo, hi)})
			}
		}
		if r.SvcP50Us.OK() {
			add("svc p50", r.SvcP50Us, results.Num{}, results.Num{})
			add("svc p99", r.SvcP99Us, results.Num{}, results.Num{})
		}
		add("p50", r.P50Us, r.P50Lo, r.P50Hi)
		add("p99", r.P99Us, r.P99Lo, r.P99Hi)
		return list
	})
}

func github(set *source.Set, of func(*results.Row) []entry) (Result, error) {
	var r Result
	list := []entry{}
	for i := range set.Cells {
		row := &set.Cells[i].Row
		if !r.usable(row) {
			continue
		}
		entries := of(row)
		for _, e := range entries {
			e.Extra = fmt.Sprintf("%s, %s samples", row.Verdict, row.Samples)
			list = append(list, e)
		}
		r.Rows += min(len(entries), 1)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(list)
	r.Data = b.Bytes()
	return r, err
}

func between(lo, hi results.Num) string {
	if !lo.OK() || !hi.OK() {
		return ""
	}
	return lo.String() + " … " + hi.String()
}
