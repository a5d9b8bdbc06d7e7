package stability

import (
	"cmp"
	"math"
	"slices"

	"msgbench/results"
	"msgbench/results/hist"
)

// Strip is what charts need of one cell and a row does not hold: its samples one by one, and the far tail.
type Strip struct {
	Cell   string // key
	Metric string // of the points: "throughput" in operations per second, or "p50" in µs
	Points []Point
	Tail   []Quantile // of the main latency, ascending; only those that the data shows
}

// Point is one sample that measured something.
type Point struct {
	Order int // place in the run, from 0
	Value float64
	Core  bool // in the stable core
	Aside bool // not among the samples of the row: rejected, or of another attempt than the one that decides
}

// Quantile is the latency that the share Q of the operations keeps.
type Quantile struct{ Q, Us float64 }

var tail = []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 0.999999}

// points are the samples of all attempts, as they were measured.
func points(p results.Policy, j judged) []Point {
	var list []Point
	for _, a := range j.attempts {
		for _, s := range a.samples {
			if !s.measured {
				continue
			}
			v := s.throughput
			if j.name == "p50" {
				v = s.p50 / 1e3
			}
			if math.IsNaN(v) {
				continue
			}
			aside := a.number != j.attempt.number || s.outcome != results.OK
			list = append(list, Point{Order: s.order, Value: v, Core: !aside && inCore(p, j.finding, s.line), Aside: aside})
		}
	}
	slices.SortStableFunc(list, func(a, b Point) int { return cmp.Compare(a.Order, b.Order) })
	return list
}

// inCore tells whether the sample of a line of the journal is left when the ends are dropped. Among equal values the
// earlier one stands lower.
func inCore(p results.Policy, f finding, line int) bool {
	order := make([]int, len(f.valid))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.metric[a], f.metric[b]) })
	drop := dropped(len(order), p.Trim)
	for rank, i := range order {
		if f.valid[i].line == line {
			return rank >= drop && rank < len(order)-drop
		}
	}
	return false
}

// tailOf is empty where there is no latency.
func tailOf(h *hist.Hist) []Quantile {
	if h == nil {
		return nil
	}
	var list []Quantile
	for _, q := range tail {
		if ns, ok := h.Quantile(q); ok {
			list = append(list, Quantile{q, float64(ns) / 1e3})
		}
	}
	return list
}
