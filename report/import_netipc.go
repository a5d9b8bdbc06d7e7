package report

import (
	"bytes"
	"fmt"

	"msgbench/results"
)

const netipcColumns = "scenario,client,server,target_rps,throughput,p50_us,p95_us,p99_us,client_cpu_pct,server_cpu_pct,total_cpu_pct"

const netipcFlaws = "the median of each column is taken on its own, so total CPU is not client + server; at a fixed rate the clock " +
	"starts after the wait, so latencies are service times; Windows times 1 request in 64, POSIX the first ones only; server " +
	"CPU includes idle time around the window; how stable a row was is not in the file"

// netipcCells is what netipc measures, in the order of its pages, by the name in the file: named pipes and shared memory on
// Windows (base np), Unix sockets and shared memory on POSIX (base uds). Peers and rate are not in the cells.
func netipcCells(base string) (names []string, cells map[string]results.Cell, rates map[string][]int) {
	shm := "shm"
	if base == "np" {
		shm = "win-shm" // it is another one than POSIX's
	}
	cells, rates = map[string]results.Cell{}, map[string][]int{}
	add := func(name, scenario, transport string, payload int, r ...int) {
		names = append(names, name)
		c := results.Cell{Scenario: scenario, Transport: transport, Payload: payload}
		if scenario == "pipeline" || scenario == "pipeline-batch" {
			c.Defaults = map[string]string{"depth": "16"}
			if scenario == "pipeline" {
				c.Defaults["mode"] = "cycle"
			}
		}
		cells[name], rates[name] = c, r
	}
	all := []int{0, 100_000, 10_000, 1_000}
	add(base+"-ping-pong", "ping-pong", base, 8, all...)
	add("shm-ping-pong", "ping-pong", shm, 8, all...)
	add(base+"-batch-ping-pong", "batch", base, results.NoPayload, all...)
	add("shm-batch-ping-pong", "batch", shm, results.NoPayload, all...)
	add("snapshot-baseline", "snapshot", base, results.NoPayload, 0, 1_000)
	add("snapshot-shm", "snapshot", shm, results.NoPayload, 0, 1_000)
	add("lookup", "lookup", "-", results.NoPayload, 0)
	add(base+"-pipeline-d16", "pipeline", base, 8, 0)
	add(base+"-pipeline-batch-d16", "pipeline-batch", base, results.NoPayload, 0)
	return names, cells, rates
}

var netipcPeers = []string{"c", "go", "rust"}

// netipcMatrix is every cell of a complete page.
func netipcMatrix(base string) []results.Cell {
	var out []results.Cell
	names, cells, rates := netipcCells(base)
	for _, n := range names {
		for _, rate := range rates[n] {
			for _, server := range netipcPeers {
				for _, client := range netipcPeers {
					c := cells[n]
					c.Client, c.Server, c.Rate = client, server, rate
					if c.Scenario != "lookup" || client == server {
						out = append(out, c)
					}
				}
			}
		}
	}
	return out
}

// netipcBase tells Windows (np) from POSIX (uds) by imported rows.
func netipcBase(rows []results.Row) string {
	for i := range rows {
		if rows[i].Transport == "uds" || rows[i].Transport == "shm" {
			return "uds"
		}
	}
	return "np"
}

// readNetipc reads one row a cell. Names of scenarios and columns must be known; which cells are there, twice or missing,
// is for the validation of the page to say.
func readNetipc(f *publishedFile) error {
	base, machine := "np", "local Windows benchmark host (x86_64)"
	if bytes.Contains(f.data, []byte("\nuds-")) {
		base, machine = "uds", "netipc's POSIX benchmark host"
	}
	if f.machine == "" {
		f.machine = machine
	}
	_, cells, _ := netipcCells(base)
	words := map[string]string{}
	for n := range cells {
		words[n] = n
	}
	return f.each(netipcColumns, ',', func(p *published) results.Row {
		c := cells[p.word("scenario", words)]
		c.Client, c.Server, c.Rate = p.peer("client"), p.peer("server"), p.integer("target_rps")
		r := importedRow(c)
		r.Throughput = p.num("throughput", 1)
		r.ClientCPU, r.TotalCPU = p.num("client_cpu_pct", 1), p.num("total_cpu_pct", 1)
		p50, p95, p99, server := p.num("p50_us", 1), p.num("p95_us", 1), p.num("p99_us", 1), p.num("server_cpu_pct", 1)
		if c.Scenario == "lookup" {
			r.Reason = "no transport and no latency"
			return r
		}
		r.P50Us, r.P95Us, r.P99Us, r.ServerCPU = p50, p95, p99, server
		r.Latency = results.RTT
		if c.Dim("depth") != "" {
			r.Latency = results.Cycle
		}
		r.Reason = "medians column by column"
		if base == "np" {
			r.Reason += "; latency of 1 request in 64"
			if c.Transport == "win-shm" && c.Scenario == "batch" {
				r.Reason += "; no warm-up"
			}
		} else {
			r.Reason += "; latency of the first requests only; one sample; no warm-up"
		}
		if c.Rate > 0 {
			r.Loop, r.Latency = results.Paced, results.Service
			r.Reason += "; latency starts after the wait for the rate"
			if got := r.Throughput.Or(0); c.Scenario != "batch" && got < 0.99*float64(c.Rate) {
				r.Reason += fmt.Sprintf("; below the target: %.0f of %d/s", got, c.Rate)
			}
		}
		return r
	})
}
