package compare

import (
	"fmt"

	"msgbench/report/source"
	"msgbench/results"
	"msgbench/stability"
)

// pick chooses the metric of two rows, or gives the reason why they are not compared.
func pick(o, n *source.Cell, names names) Cell {
	c := Cell{Key: o.Row.Cell, oldRow: o.Row, newRow: n.Row}
	c.Metric, c.Reason = metric(&o.Row, &n.Row, names)
	c.Higher = c.Metric == throughput || c.Metric == delivered
	c.Old, _ = o.Row.Number(c.Metric)
	c.New, _ = n.Row.Number(c.Metric)
	if why := unusable(names.old, &o.Row); why != "" {
		c.Reason = why
	} else if why := unusable(names.new, &n.Row); why != "" {
		c.Reason = why
	}
	if c.Reason != "" {
		return c
	}
	for _, s := range []struct {
		name string
		cell *source.Cell
	}{{names.old, o}, {names.new, n}} {
		if s.cell.NoSamples != "" {
			c.Reason = s.name + ": " + s.cell.NoSamples
			return c
		}
	}
	return c
}

// unusable says why a row is not compared. What else makes two rows no fair comparison belongs here and in metric.
func unusable(name string, r *results.Row) string {
	if results.Publishable(r.Verdict) {
		return ""
	}
	if r.Reason == "" {
		return name + " is " + r.Verdict
	}
	return fmt.Sprintf("%s is %s: %s", name, r.Verdict, r.Reason)
}

// The columns that are compared.
const (
	throughput = "throughput"
	delivered  = "messages_per_s"
	service    = "svc_p50_us"
	latency    = "p50_us"
)

// metric is the column that two rows are compared by: throughput at max, and where a rate was too much for either of
// them (of broadcasts that dropped messages, what was delivered: who drops more publishes more); the median service time at a
// fixed rate, or the median latency where there is no other.
func metric(o, n *results.Row, names names) (column, reason string) {
	column = metricOf(o)
	other := metricOf(n)
	if o.Verdict == results.Oversubscribed || n.Verdict == results.Oversubscribed {
		column, other = throughput, throughput
	}
	if column == throughput && other == throughput && (lossy(o) || lossy(n)) {
		column, other = delivered, delivered
	}
	switch {
	case o.Verdict == results.Oversubscribed || n.Verdict == results.Oversubscribed:
		return column, ""
	case !results.Publishable(o.Verdict) || !results.Publishable(n.Verdict):
		return column, "" // they may lack figures
	case column != other:
		return column, fmt.Sprintf("not the same figure: %s has %s, %s has %s", names.old, column, names.new, other)
	case o.Loop != n.Loop:
		return column, fmt.Sprintf("not the same loop: %s %s, %s %s", names.old, o.Loop, names.new, n.Loop)
	case o.Latency != n.Latency && column == latency:
		return column, fmt.Sprintf("not the same latency: %s %s, %s %s", names.old, o.Latency, names.new, n.Latency)
	}
	return column, ""
}

// lossy tells broadcasts that did not deliver all that was published.
func lossy(r *results.Row) bool { return r.Scenario == "broadcast" && r.Lost.Or(0) > 0 }

func metricOf(r *results.Row) string {
	switch {
	case r.TargetRPS == "max" || r.TargetRPS == "":
		return throughput
	case r.SvcP50Us.OK():
		return service
	case r.P50Us.OK():
		return latency
	}
	return throughput
}

// values is the metric of each sample; NaN where a histogram does not show it.
func values(column string, samples []*stability.Figures) []float64 {
	v := make([]float64, len(samples))
	for i, s := range samples {
		switch column {
		case throughput:
			v[i] = s.Throughput
		case delivered:
			v[i] = s.Speed // of broadcasts only
		case latency:
			v[i] = s.P50 / 1e3
		default:
			v[i] = s.Service / 1e3
		}
	}
	return v
}
