package bench

import (
	"fmt"
	"strings"

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
			if matchGlob(g, c.Key()) {
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

// matchGlob matches the whole of s. On a mismatch it goes back to the last star and lets it take one character more.
func matchGlob(glob, s string) bool {
	g, i, star, from := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, from = g, i
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == s[i]):
			g++
			i++
		case star >= 0:
			from++
			g, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}
