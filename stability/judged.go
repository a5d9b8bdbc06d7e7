package stability

import (
	"msgbench/results"
	"msgbench/results/hist"
)

// Judged is what the samples of one cell come to.
type Judged struct {
	Cell    results.Cell
	Row     results.Row
	Samples []*Figures // of the valid samples of the attempt that decided, by round
	Notes   []Note
	Strip   Strip
}

// Figures are what one sample measured: what comparisons, floors and exports look at sample by sample.
type Figures struct {
	Round      int
	Ops        int64
	Throughput float64 // operations per second
	Speed      float64 // results.Row.Speed of this sample
	P50, P99   float64 // of the main latency in ns; NaN where its histogram does not show it
	Service    float64 // p50 of the service time in ns; likewise
	// Columns are those that Judge was asked for, as the row of this sample alone would have them.
	Columns []results.Num
}

// Judge gives what each cell of the run comes to, in the order of run.Cells, from the samples of its journal, which may be
// incomplete. A cell without samples is skipped ("not measured: the run was interrupted"). Rows of failed and skipped
// cells have no figures; unstable ones keep theirs. columns are those that are wanted of each sample too.
//
// It is an error when the samples are not those of the run: an unknown cell, one sample twice, a cell planned twice. A
// row that is wrong in silence would be worse than none.
func Judge(run results.Run, samples Samples, columns ...string) ([]Judged, error) {
	a := &aggregator{run: run, columns: columns}
	g, err := group(run, samples, a)
	if err != nil {
		return nil, err
	}
	all := judgeAll(run.Policy, g)
	list := make([]Judged, len(all))
	for i := range all {
		j := &all[i]
		list[i] = Judged{Cell: j.cell, Row: a.row(j), Notes: allNotes(run.Policy, j),
			Strip: Strip{Cell: j.key, Metric: j.name, Points: points(run.Policy, *j)}}
		if j.attempt.joint != nil {
			list[i].Strip.Tail = j.attempt.joint.tail
		}
		list[i].Samples = make([]*Figures, len(j.valid))
		for k, s := range j.valid {
			list[i].Samples[k] = s.figures
		}
		*j, g[i] = judged{}, cellSamples{} // what they hold is not needed twice
	}
	return list, nil
}

// figures are those of a valid sample.
func (a *aggregator) figures(g *cellSamples, s *results.Sample) *Figures {
	m := s.Measurement
	f := &Figures{Round: s.Round, Ops: m.Ops, Throughput: m.Throughput(), Speed: m.Speed(g.cell.Scenario),

		P50: quantile(m.Latency, 0.5), P99: quantile(m.Latency, 0.99), Service: quantile(m.Service, 0.5)}
	if len(a.columns) == 0 {
		return f
	}
	alone := pool{samples: []sample{withoutHistograms(s)}}
	for i, h := range []*hist.Hist{m.Latency, m.Service, m.Lateness} {
		*alone.merged()[i] = merged{h, h.Count() == 0}
	}
	row := a.valid(g, &alone)
	f.Columns = make([]results.Num, len(a.columns))
	for i, c := range a.columns {
		f.Columns[i], _ = row.Number(c)
	}
	return f
}
