package stability

import (
	"strings"

	"msgbench/results"
)

// cpuColumn is the column that the CPU of a role counts in.
func cpuColumn(role string) int {
	switch {
	case role == results.Client || role == results.Publisher:
		return 0
	case strings.HasPrefix(role, results.Broker):
		return 2
	}
	return 1 // the server, or one of several subscribers
}

// cpu fills the CPU columns: nanoseconds of all valid samples pooled, over the pooled windows. The total is the sum of
// its parts as they stand in the row. A column is empty where one sample lacks a role of it, and so is the total then.
func cpu(row *results.Row, c results.Cell, samples []sample) {
	roles := map[string]bool{}
	for _, s := range samples {
		for r := range s.Measurement.CPUNs {
			roles[r] = true
		}
		for name := range s.Placement {
			roles[results.RoleOf(name)] = true
		}
	}
	var ns [3]float64
	var used, missing [3]bool
	var window, ops, pacer float64
	for _, s := range samples {
		m := s.Measurement
		window += float64(m.WindowNs)
		ops += float64(m.Ops)
		pacer += float64(m.PacerNs)
		for r := range roles {
			v, ok := m.CPUNs[r]
			col := cpuColumn(r)
			ns[col] += float64(v)
			used[col] = true
			missing[col] = missing[col] || !ok
		}
	}
	if window <= 0 {
		return
	}
	// The pacer measures what it spins by the clock: preempted, it may count more than the CPU time of its process.
	pacer = min(pacer, ns[0])
	ns[0] -= pacer

	var total float64
	complete := len(roles) > 0
	for col, field := range []*results.Num{&row.ClientCPU, &row.ServerCPU, &row.BrokerCPU} {
		if !used[col] {
			continue
		}
		if missing[col] {
			complete = false
			continue
		}
		*field = results.N(100 * ns[col] / window)
		total += field.Or(0)
	}
	if c.Rate != 0 && row.ClientCPU.OK() {
		row.PacerCPU = results.N(100 * pacer / window)
	}
	if !complete {
		return
	}
	row.TotalCPU = results.N(total)
	if ops > 0 {
		row.CPUNsOp = results.N((ns[0] + ns[1] + ns[2]) / ops)
	}
}
