// Package floors holds a run against the floors of a file: for each of them pass, fail, inconclusive or missing.
package floors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"msgbench/results"
)

// Floor is what a metric of some cells must keep.
type Floor struct {
	Name     string
	Line     int // in its file
	Cell     string
	Match    []Field // all of them must hold
	Metric   string  // a column of the CSV that holds numbers
	Min, Max *float64
	// Relative, where there are any, names the cell that the metric is divided by: the matched one with these fields
	// instead of its own.
	Relative []Field
}

// Field is a field of the key and the values that it may have.
type Field struct {
	Name   string
	Values []string
	Line   int
}

// lineError is an error at a line of a floors file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return e.text }

func at(n *yaml.Node, format string, args ...any) error {
	return &lineError{n.Line, fmt.Sprintf(format, args...)}
}

// Parse reads a floors file; name stands before the line in errors.
func Parse(name string, data []byte) ([]Floor, error) {
	list, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, located(err))
	}
	return list, nil
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors: )?line (\d+): (.*)`)

// located puts the line before an error.
func located(err error) error {
	var le *lineError
	if errors.As(err, &le) {
		return fmt.Errorf("%d: %s", le.line, le.text)
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s: %s", m[1], m[2])
	}
	return fmt.Errorf(" %s", text)
}

func parse(data []byte) ([]Floor, error) {
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: want floors")
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(&more); err == nil {
		return nil, at(&more, "a second document: want one")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	top, err := fields(doc.Content[0], "the file", "floors")
	if err != nil {
		return nil, err
	}
	seq := top["floors"]
	if seq == nil || seq.Kind != yaml.SequenceNode || len(seq.Content) == 0 {
		return nil, at(doc.Content[0], "want floors: and a list of them")
	}
	var list []Floor
	for _, n := range seq.Content {
		f, err := parseFloor(n)
		if err != nil {
			return nil, err
		}
		for _, other := range list {
			if other.Name == f.Name {
				return nil, at(n, "two floors are named %q: the other one is at line %d", f.Name, other.Line)
			}
		}
		list = append(list, f)
	}
	return list, nil
}

// fields are the values of a mapping by their keys, which must be among known (any, if there are none).
func fields(n *yaml.Node, what string, known ...string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, at(n, "%s: want keys and values", what)
	}
	m := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if len(known) > 0 && !slices.Contains(known, k.Value) {
			return nil, at(k, "unknown key %q (want %s)", k.Value, strings.Join(known, ", "))
		}
		if m[k.Value] != nil {
			return nil, at(k, "the key %q stands twice", k.Value)
		}
		m[k.Value] = n.Content[i+1]
	}
	return m, nil
}

func parseFloor(n *yaml.Node) (f Floor, err error) {
	m, err := fields(n, "a floor", "name", "match", "cell", "metric", "min", "max", "relative_to")
	if err != nil {
		return f, err
	}
	f.Line = n.Line
	for _, s := range []struct {
		key string
		to  *string
	}{{"name", &f.Name}, {"cell", &f.Cell}, {"metric", &f.Metric}} {
		if v := m[s.key]; v != nil {
			if v.Kind != yaml.ScalarNode || v.Value == "" {
				return f, at(v, "%s: want a single value", s.key)
			}
			*s.to = v.Value
		}
	}
	if f.Name == "" {
		return f, at(n, "a floor needs a name")
	}
	if m["match"] == nil && f.Cell == "" {
		return f, at(n, "floor %q: want match or cell, which say what it is for", f.Name)
	}
	if f.Match, err = keyFields(m["match"], "match", true); err != nil {
		return f, err
	}
	if f.Relative, err = keyFields(m["relative_to"], "relative_to", false); err != nil {
		return f, err
	}
	if !slices.Contains(results.Numbers(), f.Metric) {
		where := n
		if m["metric"] != nil {
			where = m["metric"]
		}
		return f, at(where, "floor %q: metric %q is not a column of numbers (%s)", f.Name, f.Metric, strings.Join(results.Numbers(), ", "))
	}
	if f.Min, err = number(m["min"], "min"); err != nil {
		return f, err
	}
	if f.Max, err = number(m["max"], "max"); err != nil {
		return f, err
	}
	switch {
	case f.Min == nil && f.Max == nil:
		return f, at(n, "floor %q: want min or max", f.Name)
	case f.Min != nil && f.Max != nil && *f.Min > *f.Max:
		return f, at(m["min"], "floor %q: min %s is above max %s", f.Name, m["min"].Value, m["max"].Value)
	}
	return f, nil
}

// keyFields are fields of the key; lists tells whether one may have several values.
func keyFields(n *yaml.Node, what string, lists bool) ([]Field, error) {
	if n == nil {
		return nil, nil
	}
	m, err := fields(n, what)
	if err != nil {
		return nil, err
	}
	if len(m) == 0 {
		return nil, at(n, "%s: want at least one field", what)
	}
	var list []Field
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		f := Field{Name: k.Value, Line: k.Line}
		values := []*yaml.Node{v}
		if v.Kind == yaml.SequenceNode && lists {
			values = v.Content
		}
		for _, one := range values {
			if one.Kind != yaml.ScalarNode || one.Value == "" {
				return nil, at(v, "%s: %s: want a value", what, k.Value)
			}
			f.Values = append(f.Values, one.Value)
		}
		if len(f.Values) == 0 {
			return nil, at(v, "%s: %s: an empty list", what, k.Value)
		}
		list = append(list, f)
	}
	return list, nil
}

func number(n *yaml.Node, what string) (*float64, error) {
	if n == nil {
		return nil, nil
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, at(n, "%s: %q is not a number", what, n.Value)
	}
	return &v, nil
}
