package stability

import "msgbench/results"

// Judged is the row of a cell and the samples that it joins.
type Judged struct {
	Cell    results.Cell
	Row     results.Row
	Samples []results.Sample // the valid ones of the attempt that decided, by round
}

// Judge is Rows with the samples beside each row, for what looks at them one by one: comparisons, floors, exports.
func Judge(run results.Run, samples []results.Sample) ([]Judged, error) {
	g, err := group(run, samples)
	if err != nil {
		return nil, err
	}
	a := newAggregator(run)
	list := make([]Judged, len(g))
	for i, j := range judgeAll(run.Policy, g) {
		list[i] = Judged{Cell: j.cell, Row: a.row(j)}
		for _, s := range j.valid {
			list[i].Samples = append(list[i].Samples, *s.Sample)
		}
	}
	return list, nil
}

// Figures gives one row for each sample of a judged cell: the row of the cell as it would be from that sample alone, so
// that any column can be looked at sample by sample. Columns that take several samples are empty.
func Figures(run results.Run, j Judged) []results.Row {
	a := newAggregator(run)
	rows := make([]results.Row, len(j.Samples))
	for i := range j.Samples {
		rows[i] = a.row(judged{
			cellSamples: cellSamples{cell: j.Cell, key: j.Row.Cell}, verdict: results.Stable,
			finding: finding{valid: []placed{{Sample: &j.Samples[i]}}},
		})
		rows[i].CoreSamples = results.Num{}
	}
	return rows
}
