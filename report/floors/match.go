package floors

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"msgbench/report/source"
	"msgbench/results"
)

// target is a cell that a floor is for.
type target struct {
	cell  *source.Cell
	other *source.Cell // that a relative floor divides by; nil where it is not in the run
	// Why there is no other.
	noOther string
}

// bound is a floor with its targets.
type bound struct {
	Floor
	targets []target
}

// bind finds the cells of each floor. A floor without any is an error, and so are two that contradict: neither can ever
// tell something.
func bind(name string, set *source.Set, list []Floor) ([]bound, error) {
	out := make([]bound, len(list))
	for i, f := range list {
		b := bound{Floor: f}
		if err := b.bind(set); err != nil {
			return nil, fmt.Errorf("%s:%w", name, located(err))
		}
		out[i] = b
	}
	if err := contradiction(out); err != nil {
		return nil, fmt.Errorf("%s:%w", name, located(err))
	}
	return out, nil
}

func (b *bound) bind(set *source.Set) error {
	for _, f := range slices.Concat(b.Match, b.Relative) {
		if known := fieldNames(set); !slices.Contains(known, f.Name) {
			return &lineError{f.Line, fmt.Sprintf("floor %q: unknown field %q (here there are %s)", b.Name, f.Name, strings.Join(known, ", "))}
		}
	}
	// One value of several that no cell has would be left out without a word: it is a mistake as a floor without a cell is.
	for _, f := range b.Match {
		for _, v := range f.Values {
			has := func(c source.Cell) bool { return field(c.Cell, f.Name) == v }
			if len(f.Values) > 1 && !slices.ContainsFunc(set.Cells, has) {
				return &lineError{f.Line, fmt.Sprintf("floor %q: no cell of %s has %s %s", b.Name, set.Path, f.Name, v)}
			}
		}
	}
	related := 0
	for i := range set.Cells {
		c := &set.Cells[i]
		if b.Cell != "" && !results.Glob(b.Cell, c.Row.Cell) || !holds(c, b.Match) {
			continue
		}
		t := target{cell: c}
		if len(b.Relative) > 0 {
			if t.other, t.noOther = partner(set, c, b.Relative); t.other != nil {
				related++
			}
			if t.other == c {
				return &lineError{b.Line, fmt.Sprintf("floor %q: %s is relative to itself", b.Name, c.Row.Cell)}
			}
		}
		b.targets = append(b.targets, t)
	}
	switch {
	case len(b.targets) == 0:
		return &lineError{b.Line, fmt.Sprintf("floor %q matches none of the %d cells of %s", b.Name, len(set.Cells), set.Path)}
	case len(b.Relative) > 0 && related == 0:
		return &lineError{b.Line, fmt.Sprintf("floor %q: relative_to matches none of the cells of %s: %s", b.Name, set.Path, b.targets[0].noOther)}
	}
	return nil
}

var baseFields = []string{"scenario", "transport", "client", "server", "payload_bytes", "target_rps"}

// fieldNames are the fields that the keys of a run have.
func fieldNames(set *source.Set) []string {
	dims := map[string]bool{}
	for _, c := range set.Cells {
		for n := range c.Cell.Dims {
			dims[n] = true
		}
		for n := range c.Cell.Defaults {
			dims[n] = true
		}
	}
	return append(slices.Clone(baseFields), slices.Sorted(maps.Keys(dims))...)
}

// field is the value of a field of the key; empty where it does not apply.
func field(c results.Cell, name string) string {
	switch name {
	case "scenario":
		return c.Scenario
	case "transport":
		return c.Transport
	case "client":
		return c.Client
	case "server":
		return c.Server
	case "payload_bytes":
		return strings.TrimSuffix(c.PayloadString(), "B")
	case "target_rps":
		return results.RateString(c.Rate)
	}
	return c.Dim(name)
}

func holds(c *source.Cell, match []Field) bool {
	for _, f := range match {
		if !slices.Contains(f.Values, field(c.Cell, f.Name)) {
			return false
		}
	}
	return true
}

// partner finds the cell like c, but with other values in some fields. Dimensions at their default are not compared,
// since the defaults of transports differ.
func partner(set *source.Set, c *source.Cell, other []Field) (*source.Cell, string) {
	instead := map[string]string{}
	for _, f := range other {
		instead[f.Name] = f.Values[0]
	}
	like := func(o *source.Cell) bool {
		for _, name := range baseFields {
			want, ok := instead[name]
			if !ok {
				want = field(c.Cell, name)
			}
			if field(o.Cell, name) != want {
				return false
			}
		}
		for _, dims := range []map[string]string{c.Cell.Dims, o.Cell.Dims, instead} {
			for name := range dims {
				if slices.Contains(baseFields, name) {
					continue
				}
				if want, ok := instead[name]; ok {
					if o.Cell.Dim(name) != want {
						return false
					}
				} else if o.Cell.Dims[name] != c.Cell.Dims[name] {
					return false
				}
			}
		}
		return true
	}
	for i := range set.Cells {
		o := &set.Cells[i]
		if !like(o) {
			continue
		}
		if o.Row.Machine != c.Row.Machine {
			return nil, fmt.Sprintf("%s was measured on %q, %s on %q: their ratio would be one of machines", c.Row.Cell, c.Row.Machine, o.Row.Cell, o.Row.Machine)
		}
		return o, ""
	}
	var parts []string
	for _, f := range other {
		parts = append(parts, f.Name+" "+f.Values[0])
	}
	return nil, fmt.Sprintf("there is no %s with %s", c.Row.Cell, strings.Join(parts, ", "))
}

// limit is what one floor demands of one figure.
type limit struct {
	floor    *bound
	min, max float64
}

// contradiction finds two floors that no figure can keep both. A ratio and its inverse are one figure.
func contradiction(list []bound) error {
	type figure struct{ cell, other, metric string }
	limits := map[figure][]limit{}
	for i := range list {
		f := &list[i]
		l := limit{f, math.Inf(-1), math.Inf(1)}
		if f.Min != nil {
			l.min = *f.Min
		}
		if f.Max != nil {
			l.max = *f.Max
		}
		for _, t := range f.targets {
			key := figure{cell: t.cell.Row.Cell, metric: f.Metric}
			here := l
			if t.other != nil {
				key.other = t.other.Row.Cell
				if key.other < key.cell {
					key.cell, key.other = key.other, key.cell
					here = l.inverse()
				}
			}
			for _, o := range limits[key] {
				if o.min > here.max || here.min > o.max {
					return &lineError{f.Line, fmt.Sprintf("floors %q and %q contradict: no %s of %s can keep both", o.floor.Name, f.Name, f.Metric, t.cell.Row.Cell)}
				}
			}
			limits[key] = append(limits[key], here)
		}
	}
	return nil
}

// inverse are the limits of 1/x, for an x above 0.
func (l limit) inverse() limit {
	r := limit{l.floor, 0, math.Inf(1)}
	if l.max < math.Inf(1) && l.max > 0 {
		r.min = 1 / l.max
	}
	if l.min > 0 {
		r.max = 1 / l.min
	}
	return r
}
