package html

import (
	"fmt"
	"math"
	"strconv"

	"msgbench/report/charts"
	"msgbench/results"
)

// column is the head of a column.
type column struct {
	Name, Hint string
	Text       bool // sorts as text, and stands left
	field      func(*results.Row) field
}

// field is one value: what people read, and what it sorts by where that is something else.
type field struct{ Text, Sort string }

var columns = []column{
	{"transport", "and what differs from the defaults; ~: unstable", true, func(r *results.Row) field { return field{Text: clean(charts.Name(r))} }},
	{"verdict", "", true, func(r *results.Row) field { return field{Text: clean(r.Verdict)} }},
	{"payload B", "without the envelope of 32 bytes", false, plain(func(r *results.Row) results.Num { return r.Payload })},
	{"rate", "target, operations per second", false, func(r *results.Row) field {
		if r.TargetRPS == "max" {
			return field{"max", "1e18"}
		}
		return field{Text: clean(r.TargetRPS)}
	}},
	{"per second", "operations: median of the samples", false, func(r *results.Row) field { return field{count(r.Throughput), r.Throughput.String()} }},
	{"interval", "of the throughput", false, func(r *results.Row) field {
		if !r.ThroughputLo.OK() || !r.ThroughputHi.OK() {
			return field{}
		}
		return field{count(r.ThroughputLo) + " – " + count(r.ThroughputHi), r.ThroughputLo.String()}
	}},
	{"delivered/s", "messages of broadcasts, to all subscribers together", false, func(r *results.Row) field {
		if r.Scenario != "broadcast" {
			return field{}
		}
		return field{count(r.MessagesPerS), r.MessagesPerS.String()}
	}},
	{"min µs", "", false, micros(func(r *results.Row) results.Num { return r.MinUs })},
	{"p50 µs", "", false, micros(func(r *results.Row) results.Num { return r.P50Us })},
	{"p90 µs", "", false, micros(func(r *results.Row) results.Num { return r.P90Us })},
	{"p95 µs", "", false, micros(func(r *results.Row) results.Num { return r.P95Us })},
	{"p99 µs", "", false, micros(func(r *results.Row) results.Num { return r.P99Us })},
	{"p99.9 µs", "", false, micros(func(r *results.Row) results.Num { return r.P999Us })},
	{"max µs", "", false, micros(func(r *results.Row) results.Num { return r.MaxUs })},
	{"svc p50 µs", "service time: reply − sent", false, micros(func(r *results.Row) results.Num { return r.SvcP50Us })},
	{"svc p95 µs", "service time: reply − sent", false, micros(func(r *results.Row) results.Num { return r.SvcP95Us })},
	{"svc p99 µs", "service time: reply − sent", false, micros(func(r *results.Row) results.Num { return r.SvcP99Us })},
	{"late p99 µs", "own lateness of the sender", false, micros(func(r *results.Row) results.Num { return r.LateP99 })},
	{"MB/s", "payload received, 10⁶ bytes", false, decimals(1, func(r *results.Row) results.Num { return r.MBPerS })},
	{"CPU %", "client, server and broker; 100 is one CPU; ≤: of whole processes, with their warm-up", false, cpu},
	{"lost", "messages", false, plain(func(r *results.Row) results.Num { return r.Lost })},
	{"CPUs", "how those of the two sides are related", true, func(r *results.Row) field { return field{Text: clean(r.CPURelation)} }},
	{"wait", "", true, func(r *results.Row) field { return field{Text: clean(r.Wait)} }},
	{"samples", "valid ones", false, plain(func(r *results.Row) results.Num { return r.Samples })},
	{"drift", "of throughput at max, else of p50 of the service time, over the rounds, where it is more than noise", true,
		func(r *results.Row) field { return field{Text: drift(r)} }},
	{"reason", "of the verdict", true, func(r *results.Row) field { return field{Text: clean(r.Reason)} }},
}

// drift is how a row drifts over the rounds, where that is more than noise.
func drift(r *results.Row) string {
	v, ok := r.DriftPct.Value()
	if r.Trend == "" || !ok {
		return clean(r.Trend)
	}
	return fmt.Sprintf("%s %.3g %%", clean(r.Trend), math.Abs(v))
}

func plain(of func(*results.Row) results.Num) func(*results.Row) field {
	return func(r *results.Row) field { return field{Text: of(r).String()} }
}

func decimals(n int, of func(*results.Row) results.Num) func(*results.Row) field {
	return func(r *results.Row) field {
		v, ok := of(r).Value()
		if !ok {
			return field{}
		}
		return field{Text: strconv.FormatFloat(v, 'f', n, 64)}
	}
}

// cpu marks an upper bound.
func cpu(r *results.Row) field {
	f := decimals(0, func(r *results.Row) results.Num { return r.TotalCPU })(r)
	if f.Text != "" && r.OfProcesses() {
		return field{"≤ " + f.Text, f.Text}
	}
	return f
}

// micros shows the digits that matter to people and sorts by them all.
func micros(of func(*results.Row) results.Num) func(*results.Row) field {
	return func(r *results.Row) field {
		v, ok := of(r).Value()
		if !ok {
			return field{}
		}
		digits := 2
		switch {
		case v >= 1000:
			digits = 0
		case v >= 100:
			digits = 1
		}
		return field{Text: strconv.FormatFloat(v, 'f', digits, 64)}
	}
}

// count is a rate for people: 2.48M, 65.3k, 998.
func count(n results.Num) string {
	v, ok := n.Value()
	switch {
	case !ok:
		return ""
	case v >= 999_950:
		return strconv.FormatFloat(v/1e6, 'f', 2, 64) + "M"
	case v >= 999.5:
		return strconv.FormatFloat(v/1e3, 'f', 1, 64) + "k"
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
