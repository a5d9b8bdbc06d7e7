package export

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"msgbench/report/internal/plain"
	"msgbench/report/source"
	"msgbench/results"
)

// goBench is the Go benchmark format. Each sample is a line, so that benchstat sees how they vary; the operations of its
// window are the iterations. Only facts that do not differ from run to run are configuration: benchstat sets results apart
// by it, and would compare nothing otherwise.
func goBench(set *source.Set) (Result, error) {
	var r Result
	var b bytes.Buffer
	fmt.Fprintln(&b, "pkg: msgbench")
	if cpu := plain.OneLine(set.Fact("cpu")); cpu != "" {
		fmt.Fprintf(&b, "cpu: %s\n", cpu)
	}
	for _, u := range []string{"ns/op better=lower", "ops/s better=higher", "messages/s better=higher", "p50-ns better=lower", "p99-ns better=lower",
		"svc-p50-ns better=lower", "svc-p99-ns better=lower", "cpu-ns/op better=lower"} {
		fmt.Fprintf(&b, "Unit %s\n", u)
	}
	for i := range set.Cells {
		c := &set.Cells[i]
		if !r.usable(&c.Row) {
			continue
		}
		if c.NoSamples != "" {
			return r, fmt.Errorf("%s: gobench has a line a sample: %s", set.Path, c.NoSamples)
		}
		name := benchName(c.Cell)
		for k, row := range set.Figures(c) {
			fmt.Fprintf(&b, "%s %d%s\n", name, c.Samples[k].Measurement.Ops, measures(&row))
		}
		r.Rows++
	}
	for _, l := range r.LeftOut {
		fmt.Fprintf(&b, "# left out: %s\n", l)
	}
	r.Data = b.Bytes()
	return r, nil
}

// measures are the pairs of value and unit of a sample. ns/op at a fixed rate would only repeat the rate.
func measures(row *results.Row) string {
	var s strings.Builder
	add := func(n results.Num, factor float64, unit string) {
		if v, ok := n.Value(); ok {
			fmt.Fprintf(&s, " %s %s", results.N(v*factor), unit)
		}
	}
	if v := row.Throughput.Or(0); v > 0 && row.TargetRPS == "max" {
		add(results.N(1e9/v), 1, "ns/op")
	}
	add(row.Throughput, 1, "ops/s")
	if row.Scenario == "broadcast" { // what was published may have been dropped
		add(row.MessagesPerS, 1, "messages/s")
	}
	add(row.P50Us, 1e3, "p50-ns")
	add(row.P99Us, 1e3, "p99-ns")
	add(row.SvcP50Us, 1e3, "svc-p50-ns")
	add(row.SvcP99Us, 1e3, "svc-p99-ns")
	add(row.CPUNsOp, 1, "cpu-ns/op")
	return s.String()
}

// benchName is BenchmarkPingPong/transport=shm/peer=go-go/size=8/rate=max-1. The number at the end stands for GOMAXPROCS:
// without one, readers would take the end of a name like a-2 for it.
func benchName(c results.Cell) string {
	var b strings.Builder
	b.WriteString("Benchmark")
	for word := range strings.SplitSeq(c.Scenario, "-") {
		r := []rune(word)
		if len(r) > 0 {
			r[0] = unicode.ToUpper(r[0])
		}
		b.WriteString(string(r))
	}
	part := func(name, v string) {
		// A space would end the name, and a slash the part.
		v = strings.NewReplacer(" ", "_", "/", "_").Replace(plain.OneLine(v))
		b.WriteString("/" + name + "=" + v)
	}
	if c.Transport != "-" {
		part("transport", c.Transport)
	}
	part("peer", c.Pair())
	if c.Payload != results.NoPayload {
		part("size", fmt.Sprint(c.Payload))
	}
	part("rate", results.RateString(c.Rate))
	for _, name := range slices.Sorted(maps.Keys(c.Dims)) {
		part(name, c.Dims[name])
	}
	return b.String() + "-1"
}
