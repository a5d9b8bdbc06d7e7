package floors

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"msgbench/report/internal/plain"
)

// Formats are the names that Write knows.
var Formats = []string{"text", "json", "junit", "github"}

// Write gives a report in one of Formats.
func Write(r Report, format string) ([]byte, error) {
	switch format {
	case "text":
		return []byte(asText(r)), nil
	case "json":
		return asJSON(r)
	case "junit":
		return asJUnit(r)
	case "github":
		return []byte(Annotations(r)), nil
	}
	return nil, fmt.Errorf("unknown format %q (want %s)", format, strings.Join(Formats, ", "))
}

// decimal is a number as short as it can be, without an exponent.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// figure is a figure of a floor for people.
func figure(f Floor, v float64) string {
	column := f.Metric
	if len(f.Relative) > 0 {
		column = ""
	}
	return plain.Figure(column, v) + unit(f)
}

// text is what was seen in a cell: its figure with the interval, and the reason.
func (c CellResult) text(f Floor) string {
	var parts []string
	if c.Has {
		s := figure(f, c.Value)
		if c.HasInterval && c.Lo != c.Hi {
			s += fmt.Sprintf(" (%s … %s)", figure(f, c.Lo), figure(f, c.Hi))
		}
		parts = append(parts, s)
	}
	if c.Reason != "" {
		parts = append(parts, c.Reason)
	}
	if c.First != nil {
		parts = append(parts, "in the first run "+c.First.Outcome+": "+c.First.text(f))
	}
	return plain.OneLine(strings.Join(parts, "; "))
}

// where is the cell, and what it is relative to.
func (c CellResult) where() string {
	if c.Other == "" {
		return plain.OneLine(c.Cell)
	}
	return plain.OneLine(c.Cell + " / " + c.Other)
}

// Summary is "2 pass, 1 fail of 3 floors".
func (r Report) Summary() string {
	var parts []string
	for _, o := range []string{Pass, Fail, Inconclusive, Missing} {
		if n := r.Count(o); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	return fmt.Sprintf("%s of %s", strings.Join(parts, ", "), plain.Plural(len(r.Floors), "floor"))
}

func asText(r Report) string {
	var b strings.Builder
	for _, f := range r.Floors {
		fmt.Fprintf(&b, "%-12s  %s: %s\n", f.Outcome, plain.OneLine(f.Name), f.Condition())
		for _, c := range f.Cells {
			fmt.Fprintf(&b, "  %-12s  %s: %s\n", c.Outcome, c.where(), c.text(f.Floor))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", r.Summary())
	if r.Rerun != "" {
		fmt.Fprintf(&b, "cells of broken floors were measured again, which decides: %s\n", plain.OneLine(r.Rerun))
	}
	return b.String()
}

// The JSON of a report. A number that is not there is null.
type jsonReport struct {
	Run      string         `json:"run"`
	File     string         `json:"file"`
	Rerun    string         `json:"rerun,omitempty"`
	Outcomes map[string]int `json:"outcomes"`
	Floors   []jsonFloor    `json:"floors"`
}

type jsonFloor struct {
	Name      string     `json:"name"`
	Line      int        `json:"line"`
	Outcome   string     `json:"outcome"`
	Condition string     `json:"condition"`
	Metric    string     `json:"metric"`
	Relative  bool       `json:"relative"`
	Min       *float64   `json:"min"`
	Max       *float64   `json:"max"`
	Cells     []jsonCell `json:"cells"`
}

type jsonCell struct {
	Cell       string    `json:"cell"`
	RelativeTo string    `json:"relative_to,omitempty"`
	Outcome    string    `json:"outcome"`
	Reason     string    `json:"reason,omitempty"`
	Value      *float64  `json:"value"`
	Lo         *float64  `json:"lo"`
	Hi         *float64  `json:"hi"`
	First      *jsonCell `json:"first_run,omitempty"`
}

func asJSON(r Report) ([]byte, error) {
	j := jsonReport{Run: r.Path, File: r.File, Rerun: r.Rerun, Outcomes: map[string]int{}, Floors: []jsonFloor{}}
	for _, o := range outcomes {
		j.Outcomes[o] = r.Count(o)
	}
	for _, f := range r.Floors {
		jf := jsonFloor{Name: f.Name, Line: f.Line, Outcome: f.Outcome, Condition: f.Condition(), Metric: f.Metric,
			Relative: len(f.Relative) > 0, Min: f.Min, Max: f.Max}
		for _, c := range f.Cells {
			jf.Cells = append(jf.Cells, *c.json())
		}
		j.Floors = append(j.Floors, jf)
	}
	data, err := json.MarshalIndent(j, "", "  ")
	return append(data, '\n'), err
}

func (c *CellResult) json() *jsonCell {
	if c == nil {
		return nil
	}
	j := &jsonCell{Cell: c.Cell, RelativeTo: c.Other, Outcome: c.Outcome, Reason: c.Reason, First: c.First.json()}
	if c.Has {
		j.Value = &c.Value
	}
	if c.HasInterval {
		j.Lo, j.Hi = &c.Lo, &c.Hi
	}
	return j
}
