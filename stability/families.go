package stability

import "msgbench/results"

// Families splits a run into parts whose verdicts and reruns do not depend on one another, so that a journal that is larger
// than the memory can be judged part by part (marks of drift weigh all cells: they are for Rows of the whole): cells that differ
// in their rate only stay together (rule 6), and so do the pairs
// of an A/B. Where a run goes on until it is precise, its time is shared by all cells, and there is one part only. A part is a
// run with some of the cells, in their order.
func Families(run results.Run) []results.Run {
	if run.Policy.Precision > 0 {
		return []results.Run{run}
	}
	root := make(map[string]string, len(run.Cells)) // of the key at max
	var find func(string) string
	find = func(k string) string {
		if up, ok := root[k]; ok && up != k {
			root[k] = find(up)
			return root[k]
		}
		return k
	}
	atMax := func(c results.Cell) string {
		c.Rate = 0
		return c.Key()
	}
	byKey := make(map[string]string, len(run.Cells))
	for _, c := range run.Cells {
		byKey[c.Key()] = atMax(c)
	}
	for _, c := range run.Cells {
		own := find(atMax(c))
		root[own] = own
		if other, ok := byKey[run.AB.Partner(c.Key())]; ok {
			root[own] = find(other)
		}
	}
	var parts []results.Run
	at := map[string]int{}
	for _, c := range run.Cells {
		k := find(atMax(c))
		i, ok := at[k]
		if !ok {
			i = len(parts)
			at[k] = i
			part := run
			part.Cells = nil
			parts = append(parts, part)
		}
		parts[i].Cells = append(parts[i].Cells, c)
	}
	return parts
}
