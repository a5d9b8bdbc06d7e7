// Package example makes rows for the tests of reports: plausible, the same every time, and as many as wanted.
package example

import (
	"fmt"
	"math"
	"strconv"

	"msgbench/results"
	"msgbench/stability"
)

var transports = []struct {
	name string
	us   float64 // of a round trip of 8 B
}{{"pipe", 11}, {"shm", 0.4}, {"uds", 12}, {"tcp", 18}, {"zmq-tcp", 45}, {"zmq-ipc", 38}, {"nng-tcp", 60}, {"nng-ipc", 52}}

// Table has ping-pong over eight transports, four payloads and three rates, pairs of three peers over shm, an unstable, a
// recovered, a failed and a skipped row, and strips to them.
func Table() (results.Table, []stability.Strip) {
	var rows []results.Row
	for i, t := range transports {
		for _, payload := range []int{8, 64, 1024, 65536} {
			for _, rate := range []int{0, 1000, 10_000} {
				rows = append(rows, row(t.name, "go", "go", payload, rate, t.us*(1+float64(payload)/40_000)))
			}
		}
		if i == 1 {
			for n, pair := range [][2]string{{"c", "c"}, {"c", "go"}, {"go", "c"}, {"rust", "go"}, {"go", "rust"}} {
				rows = append(rows, row("shm", pair[0], pair[1], 64, 0, 0.5+0.2*float64(n)))
			}
		}
	}
	set := func(key, verdict, reason string) {
		for i := range rows {
			if r := &rows[i]; r.Cell == key {
				r.Verdict, r.Reason = verdict, reason
				if verdict == results.Failed || verdict == results.Skipped {
					*r = results.Row{Cell: r.Cell, Scenario: r.Scenario, Transport: r.Transport, Client: r.Client, Server: r.Server,
						Payload: r.Payload, Loop: r.Loop, TargetRPS: r.TargetRPS, Verdict: verdict, Reason: reason, Machine: r.Machine}
				}
			}
		}
	}
	set("ping-pong/uds/go-go/64B/max", results.Unstable, "core 1.62 > 1.35")
	set("ping-pong/zmq-ipc/go-go/8B/max", results.Recovered, "first attempt: core 1.41 > 1.35")
	set("ping-pong/nng-tcp/go-go/64B/max", results.Failed, "server: exit status 2")
	set("ping-pong/nng-ipc/go-go/64B/max", results.Skipped, "not on this system")
	return results.Table{Facts: facts, Rows: rows}, strips(rows)
}

var facts = []results.Fact{{Key: "machine", Value: "desk"}, {Key: "CPU", Value: "Example 9000, 2 cores"},
	{Key: "kernel", Value: "Linux 6.1"}, {Key: "suite", Value: "example"}, {Key: "seed", Value: "42"}}

// Many are n rows of one table.
func Many(n int) results.Table {
	t := results.Table{Facts: facts}
	for i := range n {
		k := transports[i%len(transports)]
		r := row(k.name, "go", "go", 8<<(i/8%12), 0, k.us*(1+float64(i%97)/100))
		r.Cell += fmt.Sprintf("/depth=%d", i/96+1)
		t.Rows = append(t.Rows, r)
	}
	return t
}

func row(transport, client, server string, payload, rate int, us float64) results.Row {
	c := results.Cell{Scenario: "ping-pong", Transport: transport, Client: client, Server: server, Payload: payload, Rate: rate}
	n, perSecond := results.N, 1e6/us
	r := results.Row{
		Cell: c.Key(), Scenario: c.Scenario, Transport: transport, Client: client, Server: server, Payload: n(float64(payload)),
		Loop: results.Closed, TargetRPS: results.RateString(rate), Wait: "block", Latency: results.RTT,
		MinUs: n(us * .8), MeanUs: n(us * 1.1), P50Us: n(us), P50Lo: n(us * .97), P50Hi: n(us * 1.04), P90Us: n(us * 1.3),
		P95Us: n(us * 1.6), P99Us: n(us * 2.5), P999Us: n(us * 9), MaxUs: n(us * 120),
		ClientCPU: n(60), ServerCPU: n(40), TotalCPU: n(100), Samples: n(5), CoreSamples: n(3), CoreRatio: n(1.04),
		Machine: "desk", Source: "measured", CPURelation: "core", Verdict: results.Stable,
	}
	if rate > 0 {
		r.Loop, r.Latency, perSecond = results.Paced, results.Response, float64(rate)
		r.SvcP50Us, r.SvcP95Us, r.SvcP99Us, r.LateP99 = n(us*.9), n(us*1.4), n(us*2.2), n(1.5)
		r.P50Us = n(us * (1 + float64(rate)/20_000))
	}
	r.Throughput, r.ThroughputLo, r.ThroughputHi = n(perSecond), n(perSecond*.93), n(perSecond*1.05)
	return r
}

func strips(rows []results.Row) []stability.Strip {
	var list []stability.Strip
	for i, r := range rows {
		s := stability.Strip{Cell: r.Cell, Metric: "throughput"}
		base := r.Throughput.Or(0)
		if r.TargetRPS != "max" {
			s.Metric, base = "p50", r.SvcP50Us.Or(0)
		}
		if base == 0 {
			list = append(list, s)
			continue
		}
		for n, f := range []float64{1.01, 0.93, 1, 1.05, 0.99} {
			s.Points = append(s.Points, stability.Point{Order: n*len(rows) + (i*7+n*3)%len(rows), Value: base * f, Core: n%2 == 0 || n == 4})
		}
		if r.Verdict == results.Recovered {
			s.Points = append([]stability.Point{{Order: 2, Value: base * 0.7, Aside: true}}, s.Points...)
		}
		for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999, 0.9999} {
			us, _ := strconv.ParseFloat(fmt.Sprintf("%.3g", r.P50Us.Or(0)*math.Pow(1-q, -0.3)*0.82), 64)
			s.Tail = append(s.Tail, stability.Quantile{Q: q, Us: us})
		}
		list = append(list, s)
	}
	return list
}
