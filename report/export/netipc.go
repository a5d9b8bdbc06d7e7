package export

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"

	"msgbench/report/internal/plain"
	"msgbench/report/source"
	"msgbench/results"
)

// netipc is the CSV of netdata/plugin-ipc. Its latencies are service times, a rate of 0 is max, and 0 stands for what was
// not measured, as there. It has no column for the payload or for dimensions, so two rows that differ in these only are an
// error.
func netipc(set *source.Set) (Result, error) {
	var r Result
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"scenario", "client", "server", "target_rps", "throughput", "p50_us", "p95_us", "p99_us", "client_cpu_pct",
		"server_cpu_pct", "total_cpu_pct"})
	seen := map[string]string{}
	for i := range set.Cells {
		c := &set.Cells[i]
		row := &c.Row
		if row.Verdict != results.Imported && !r.usable(row) {
			continue
		}
		p50, p95, p99 := row.SvcP50Us, row.SvcP95Us, row.SvcP99Us
		if !p50.OK() {
			p50, p95, p99 = row.P50Us, row.P95Us, row.P99Us
		}
		rec := []string{plain.Field(netipcScenario(c.Cell)), plain.Field(row.Client), plain.Field(row.Server), strconv.Itoa(c.Cell.Rate)}
		key := fmt.Sprint(rec)
		if other, twice := seen[key]; twice {
			return r, fmt.Errorf("%s: %s and %s are one row in netipc's columns: choose with --cell", set.Path, other, row.Cell)
		}
		seen[key] = row.Cell
		for _, n := range []results.Num{row.Throughput, p50, p95, p99, row.ClientCPU, row.ServerCPU, row.TotalCPU} {
			rec = append(rec, strconv.FormatFloat(n.Or(0), 'f', 3, 64))
		}
		w.Write(rec)
		r.Rows++
	}
	w.Flush()
	r.Data = b.Bytes()
	return r, w.Error()
}

// netipcScenario is the name that netipc has for what it measures too; others are named by the same rule.
func netipcScenario(c results.Cell) string {
	transport := c.Transport
	if transport == "win-shm" {
		transport = "shm"
	}
	switch c.Scenario {
	case "lookup":
		return "lookup"
	case "batch":
		return transport + "-batch-ping-pong"
	case "pipeline", "pipeline-batch":
		if d := c.Dim("depth"); d != "" {
			return transport + "-" + c.Scenario + "-d" + d
		}
	case "snapshot":
		if transport == "uds" || transport == "np" {
			return "snapshot-baseline"
		}
		return "snapshot-" + transport
	}
	return transport + "-" + c.Scenario
}
