package floors

import (
	"slices"

	"msgbench/report/source"
)

// Broken gives the keys of the cells of broken floors, and of those that they are relative to, in the order of the floors:
// what has to be measured again to confirm them.
func (r Report) Broken() []string {
	var keys []string
	for _, f := range r.Floors {
		for _, c := range f.Cells {
			if c.Outcome != Fail {
				continue
			}
			for _, k := range []string{c.Cell, c.Other} {
				if k != "" && !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
			}
		}
	}
	return keys
}

// Columns are those that the rerun must have been loaded with.
func (r Report) Columns() []string {
	var list []Floor
	for _, f := range r.Floors {
		list = append(list, f.Floor)
	}
	return Columns(list)
}

// Confirm holds a rerun of some cells against the floors of a report. Where a cell was measured again (for a relative
// floor: both of its cells), the rerun decides, both ways: a floor that was broken may pass now, and one that passed may be
// broken. What was seen first stays beside it.
func Confirm(first Report, rerun source.Set) (Report, error) {
	if err := rerun.Unique(); err != nil {
		return Report{}, err
	}
	byKey := rerun.ByKey()
	c := checker{&rerun}
	r := Report{Path: first.Path, File: first.File, Rerun: rerun.Path}
	for _, f := range first.Floors {
		res := Result{Floor: f.Floor, Outcome: Pass}
		for _, before := range f.Cells {
			now := before
			t := target{cell: byKey[before.Cell], other: byKey[before.Other]}
			if t.cell != nil && (before.Other == "" || t.other != nil) {
				now = c.cell(f.Floor, t)
				now.First = &before
			}
			res.add(now)
		}
		r.Floors = append(r.Floors, res)
	}
	return r, nil
}

// add adds a cell; the worst outcome is that of the floor.
func (r *Result) add(c CellResult) {
	if slices.Index(outcomes, c.Outcome) < slices.Index(outcomes, r.Outcome) {
		r.Outcome = c.Outcome
	}
	r.Cells = append(r.Cells, c)
}
