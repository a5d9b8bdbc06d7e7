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
		values := make([][]results.Num, len(perSample))
		for k, u := range perSample {
			values[k] = set.Values(c, u.column)
		}
		for i, s := range c.Samples {
			fmt.Fprintf(&b, "%s %d", name, s.Ops)
			if v := values[0][i].Or(0); v > 0 && c.Cell.Rate == 0 { // at a fixed rate it would only repeat the rate
				fmt.Fprintf(&b, " %s ns/op", results.N(1e9/v))
			}
			for k, u := range perSample {
				if v, ok := values[k][i].Value(); ok && (u.column != "messages_per_s" || c.Cell.Scenario == "broadcast") {
					fmt.Fprintf(&b, " %s %s", results.N(v*u.factor), u.unit)
				}
			}
			b.WriteByte('\n')
		}
		r.Rows++
	}
	for _, l := range r.LeftOut {
		fmt.Fprintf(&b, "# left out: %s\n", l)
	}
	r.Data = b.Bytes()
	return r, nil
}

// perSample are the columns of each sample and the units that they have here; throughput is the first.
var perSample = []struct {
	column string
	factor float64
	unit   string
}{
	{"throughput", 1, "ops/s"},
	{"messages_per_s", 1, "messages/s"}, // of broadcasts: what was published may have been dropped
	{"p50_us", 1e3, "p50-ns"},
	{"p99_us", 1e3, "p99-ns"},
	{"svc_p50_us", 1e3, "svc-p50-ns"},
	{"svc_p99_us", 1e3, "svc-p99-ns"},
	{"cpu_ns_per_op", 1, "cpu-ns/op"},
}

func goBenchColumns() (columns []string) {
	for _, u := range perSample {
		columns = append(columns, u.column)
	}
	return columns
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
