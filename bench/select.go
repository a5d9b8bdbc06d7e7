package bench

import (
	"fmt"

	"msgbench/results"
)

// Select keeps the cells whose key matches one of the globs, in their order. In a glob `*` matches any text, "/" too, and
// `?` one character. A glob that matches no cell is an error.
func Select(cells []results.Cell, globs []string) ([]results.Cell, error) {
	if len(globs) == 0 {
		return cells, nil
	}
	keep := make([]bool, len(cells))
	for _, g := range globs {
		any := false
		for i, c := range cells {
			if results.Glob(g, c.Key()) {
				keep[i], any = true, true
			}
		}
		if !any {
			return nil, fmt.Errorf("--cell %q matches none of the %d cells (`msgbench plan` lists them)", g, len(cells))
		}
	}
	var kept []results.Cell
	for i, c := range cells {
		if keep[i] {
			kept = append(kept, c)
		}
	}
	return kept, nil
}
