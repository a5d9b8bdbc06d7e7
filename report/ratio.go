package report

import (
	"fmt"
	"math"
	"slices"

	"msgbench/results"
	"msgbench/stability"
)

// ratio is how many times the first row is better than the second, with its interval where there is one.
type ratio struct {
	mid, lo, hi float64
	interval    bool
	how         string // where the interval comes from
}

func (r ratio) String() string {
	if !r.interval {
		return fmt.Sprintf("%s (no interval: %s)", times(r.mid), r.how)
	}
	return fmt.Sprintf("%s (%s – %s, %s)", times(r.mid), times(r.lo), times(r.hi), r.how)
}

func times(v float64) string {
	if v < 10 {
		return fixed(v, 2)
	}
	return fixed(v, 1)
}

// pair is two rows of one table, and the metric that decides between them.
type pair struct {
	best, other *results.Row
	metric      metric
}

// ratioOf compares rows of one run over several tables: in every round the geometric mean of their ratios, of which the
// median and its interval are taken, so that drift of the machine hits both alike. Where the samples are not known, the
// interval comes from those of the rows, which makes it wider than need be.
func ratioOf(d Document, pairs []pair) ratio {
	r := ratio{mid: 1, lo: 1, hi: 1, interval: true}
	for _, p := range pairs {
		w := 1 / float64(len(pairs))
		m := p.metric
		r.mid *= math.Pow(advantage(m, m.of(p.best).Or(0), m.of(p.other).Or(0)), w)
		if m.lo == nil {
			r.interval = false
			continue
		}
		bl, bh, ol, oh := m.lo(p.best), m.hi(p.best), m.lo(p.other), m.hi(p.other)
		if !bl.OK() || !bh.OK() || !ol.OK() || !oh.OK() {
			r.interval = false
			continue
		}
		if m.higher {
			bl, bh, ol, oh = bh, bl, oh, ol
		}
		r.lo *= math.Pow(advantage(m, bh.Or(0), ol.Or(0)), w)
		r.hi *= math.Pow(advantage(m, bl.Or(0), oh.Or(0)), w)
	}
	r.how = "from the intervals of the rows"
	if !r.interval || bad(r.lo) || bad(r.hi) {
		r.interval, r.how = false, "the rows have none"
	}
	rounds := byRound(d, pairs)
	if len(rounds) == 0 {
		return r
	}
	lo, hi, level, ok := stability.Interval(rounds)
	if !ok {
		return ratio{mid: r.mid, how: fmt.Sprintf("only %s", plural(len(rounds), "round"))}
	}
	return ratio{mid: medianOf(rounds), lo: lo, hi: hi, interval: true,
		how: fmt.Sprintf("%.4g %%, round by round, %s", level*100, plural(len(rounds), "round"))}
}

// advantage is how many times a is better than b.
func advantage(m metric, a, b float64) float64 {
	if m.higher {
		return a / b
	}
	return b / a
}

func bad(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 }

// byRound gives one ratio for each round in which every row has a sample.
func byRound(d Document, pairs []pair) []float64 {
	if len(pairs) == 0 {
		return nil
	}
	var out []float64
	for _, s := range d.Samples[pairs[0].best.Cell] {
		v := 1.0
		for _, p := range pairs {
			x, ok := sampleValue(d, p.best, s.Round, p.metric)
			y, ok2 := sampleValue(d, p.other, s.Round, p.metric)
			if !ok || !ok2 {
				v = math.NaN()
				break
			}
			v *= math.Pow(advantage(p.metric, x, y), 1/float64(len(pairs)))
		}
		if !bad(v) {
			out = append(out, v)
		}
	}
	return out
}

// sampleValue is the metric of the sample of one row in one round.
func sampleValue(d Document, r *results.Row, round int, m metric) (float64, bool) {
	for _, s := range d.Samples[r.Cell] {
		if s.Round == round && m.sample != nil {
			v := m.sample(s)
			return v, v > 0
		}
	}
	return 0, false
}

// medianOf is the median of at least one value.
func medianOf(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
