package compare

import (
	"slices"

	"msgbench/report/source"
	"msgbench/results"
)

// Difference is a fact of the two runs that is not the same.
type Difference struct{ Fact, Old, New string }

// ordinary are facts that differ between any two runs.
var ordinary = []string{"date", "seed", "command", "steal before the run", "busy before the run", "clock"}

// differences are the facts that may explain a difference.
func differences(old, new *source.Set) []Difference {
	var list []Difference
	for _, f := range old.Run.Facts {
		if n := new.Fact(f.Key); n != f.Value && !slices.Contains(ordinary, f.Key) {
			list = append(list, Difference{f.Key, f.Value, n})
		}
	}
	for _, f := range new.Run.Facts {
		known := slices.ContainsFunc(old.Run.Facts, func(o results.Fact) bool { return o.Key == f.Key })
		if !known && !slices.Contains(ordinary, f.Key) {
			list = append(list, Difference{f.Key, "", f.Value})
		}
	}
	return list
}
