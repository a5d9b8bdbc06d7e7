package stability

import (
	"math"
	"reflect"
	"testing"

	"msgbench/results"
	"msgbench/results/hist"
)

// spanning is a histogram of n values from 1 to n µs.
func spanning(n int64) *hist.Hist {
	h := hist.New()
	for i := range n {
		h.Record((i + 1) * 1000)
	}
	return h
}

func near(t *testing.T, name string, got results.Num, want float64) {
	t.Helper()
	v, ok := got.Value()
	if !ok || math.Abs(v-want) > math.Abs(want)*0.001+0.0005 {
		t.Errorf("%s is %q, want %v", name, got, want)
	}
}

func empty(t *testing.T, name string, got results.Num) {
	t.Helper()
	if got.OK() {
		t.Errorf("%s is %v, want it empty", name, got)
	}
}

func TestRowWords(t *testing.T) {
	c := results.Cell{
		Scenario: "pipeline", Transport: "zmq-tcp", Client: "go", Server: "libzmq", Payload: 8, Rate: 100,
		Dims: map[string]string{"mode": "window", "subscribers": "4"}, Defaults: map[string]string{"wait": "block", "depth": "16", "scope": "raw"},
	}
	facts := func(list []results.Sample, all ...map[string]string) []results.Sample {
		for i := range list {
			list[i].Measurement.Facts = all[i%len(all)]
			list[i].Relation = "core"
		}
		return list
	}
	three := func() []results.Sample { return timed(c, 10_000, 10_000, 10_000) }
	row := rowsOf(t, runOf(c), facts(three(), map[string]string{
		"wait": "hybrid", "depth": "12", "socket": "DEALER", "nodelay": "on", "server.hwm": "1000", "odd;name": "a;b\nc", "empty": ""}))[0]
	want := results.Row{
		Cell: "pipeline/zmq-tcp/go-libzmq/8B/100/mode=window/subscribers=4", Scenario: "pipeline", Transport: "zmq-tcp", Client: "go", Server: "libzmq",
		Payload: results.N(8), Loop: results.Paced, TargetRPS: "100", Wait: "hybrid", Mode: "window", Depth: "12", Subscribers: "4", Scope: "raw",
		Options: "nodelay=on;odd,name=a,b c;server.hwm=1000;socket=DEALER", Latency: results.Response,
		Pin: "default", CPURelation: "core", Machine: "desk", Source: "measured", Verdict: results.Stable,
	}
	for v, i := reflect.ValueOf(row), 0; i < v.NumField(); i++ {
		if f := v.Type().Field(i); f.Type.Kind() == reflect.String && v.Field(i).String() != reflect.ValueOf(want).Field(i).String() {
			t.Errorf("%s is %q, want %q", f.Name, v.Field(i), reflect.ValueOf(want).Field(i))
		}
	}
	if row.Payload != want.Payload {
		t.Errorf("payload %v", row.Payload)
	}

	differ := facts(three(), map[string]string{"socket": "REQ", "depth": "2"}, map[string]string{"socket": "DEALER"})
	differ[1].Relation = "smt"
	row = rowsOf(t, runOf(c), differ)[0]
	if row.Options != "socket=DEALER|REQ" || row.CPURelation != "core|smt" || row.Depth != "2" || row.Wait != "block" {
		t.Errorf("options %q, relation %q, depth %q, wait %q", row.Options, row.CPURelation, row.Depth, row.Wait)
	}

	c.Dims = map[string]string{"pin": "none"}
	if row = rowsOf(t, runOf(c), nil)[0]; row.Pin != "none" {
		t.Errorf("pin %q, want that of the cell", row.Pin)
	}
}

// Failed and skipped rows have no figures, whatever the other samples measured.
func TestRowsWithoutFigures(t *testing.T) {
	lookup := results.Cell{Scenario: "lookup", Transport: "-", Client: "go", Server: "go", Payload: results.NoPayload}
	full := tens(atMax, 500, 500, 500, 500, 500)
	rows := rowsOf(t, runOf(atMax, at100, lookup), ended(full, 2, results.Failed, "died"))
	for i, want := range []results.Row{
		{Cell: atMax.Key(), Scenario: "ping-pong", Transport: "shm", Payload: results.N(64), Loop: results.Closed, TargetRPS: "max",
			Samples: results.N(4), Verdict: results.Failed, Reason: "died"},
		{Cell: at100.Key(), Scenario: "ping-pong", Transport: "shm", Payload: results.N(64), Loop: results.Paced, TargetRPS: "100000",
			Samples: results.N(0), Verdict: results.Skipped, Reason: "not measured: the run was interrupted"},
		{Cell: lookup.Key(), Scenario: "lookup", Transport: "-", Loop: results.Closed, TargetRPS: "max", Samples: results.N(0),
			Verdict: results.Skipped, Reason: "not measured: the run was interrupted"},
	} {
		want.Client, want.Server, want.Pin, want.Machine, want.Source = "go", "go", "default", "desk", "measured"
		if rows[i] != want {
			t.Errorf("%+v\nwant %+v", rows[i], want)
		}
	}
}

func TestRates(t *testing.T) {
	list := tens(atMax, 100, 140, 120, 110, 130)
	for i := range list { // windows of their own: per second, not per window
		m := list[i].Measurement
		m.WindowNs, m.Messages, m.PayloadBytes = 2*second, m.Ops/10, m.Ops*1e6
	}
	row := rowsOf(t, runOf(atMax), list)[0]
	near(t, "throughput", row.Throughput, 60)
	near(t, "throughput_lo", row.ThroughputLo, 50)
	near(t, "throughput_hi", row.ThroughputHi, 70)
	near(t, "messages_per_s", row.MessagesPerS, 6)
	near(t, "mb_per_s", row.MBPerS, 60)

	row = rowsOf(t, runOf(atMax), list[:4])[0]
	near(t, "throughput of four", row.Throughput, 57.5)
	empty(t, "throughput_lo of four", row.ThroughputLo)
	empty(t, "p50_hi of four", row.P50Hi)
}

// Percentiles come from the merged histograms: the mean, or the median, of those of the samples would be another number.
func TestPercentilesAreMerged(t *testing.T) {
	list := timed(at100, 10_000, 10_000, 10_000, 10_000, 10_000)
	all := hist.New()
	for i := range list {
		m := list[i].Measurement
		m.Latency = spanning([]int64{1000, 1000, 1000, 1000, 100_000}[i])
		all.Merge(m.Latency)
	}
	row := rowsOf(t, runOf(at100), list)[0]
	for _, c := range []struct {
		name string
		got  results.Num
		q    float64
	}{{"p50", row.P50Us, 0.5}, {"p90", row.P90Us, 0.9}, {"p95", row.P95Us, 0.95}, {"p99", row.P99Us, 0.99}, {"p999", row.P999Us, 0.999}} {
		ns, _ := all.Quantile(c.q)
		if want := results.Us(ns, true); c.got != want {
			t.Errorf("%s is %v, want %v", c.name, c.got, want)
		}
	}
	near(t, "min_us", row.MinUs, 1)
	near(t, "max_us", row.MaxUs, 100_000)
	near(t, "mean_us", row.MeanUs, (4*1000*500.5+100_000*50_000.5)/104_000)
	near(t, "p50_lo", row.P50Lo, 500)
	near(t, "p50_hi", row.P50Hi, 50_000)
	near(t, "p99_lo", row.P99Lo, 990)
	near(t, "p99_hi", row.P99Hi, 99_000)
	near(t, "svc_p50_us", row.SvcP50Us, 10)
	near(t, "svc_p95_us", row.SvcP95Us, 10)
	empty(t, "svc_p99_us of 500 values", row.SvcP99Us)
	empty(t, "late_p99_us of 500 values", row.LateP99)
}

// No tail is trimmed away: a sample that the core leaves out is in the percentiles.
func TestPercentilesHoldOutliers(t *testing.T) {
	list := tens(atMax, 1, 500, 500, 500, 500)
	list[0].Measurement.Latency = flat(9_000_000)
	row := rowsOf(t, runOf(atMax), list)[0]
	check(t, row, results.Stable, "")
	near(t, "max_us", row.MaxUs, 9000)
	near(t, "p95_us", row.P95Us, 9000)
	near(t, "raw_ratio", row.RawRatio, 500)
}

func TestPercentilesNeedObservations(t *testing.T) {
	list := tens(atMax, 500, 500, 500, 500, 500)
	for i := range list {
		list[i].Measurement.Latency = spanning(199)
	}
	row := rowsOf(t, runOf(atMax), list)[0] // 995 values
	near(t, "p95_us", row.P95Us, 189)       // the 945th
	empty(t, "p99_us of 995", row.P99Us)
	empty(t, "p99_lo", row.P99Lo)
	near(t, "p50_lo", row.P50Lo, 100)

	list[1].Measurement.Latency = nil // four of five would pass for all
	row = rowsOf(t, runOf(atMax), list)[0]
	empty(t, "p50_us where a sample has none", row.P50Us)
	empty(t, "max_us where a sample has none", row.MaxUs)
	empty(t, "p50_lo where a sample has none", row.P50Lo)
	if row.Throughput.Or(0) != 500 {
		t.Errorf("throughput %v", row.Throughput)
	}
}

func TestCPU(t *testing.T) {
	ns := func(pairs ...any) map[string]int64 {
		m := map[string]int64{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = int64(pairs[i+1].(int)) * second / 1000
		}
		return m
	}
	type want struct{ client, server, broker, pacer, total, op float64 } // −1: empty
	for _, c := range []struct {
		name   string
		cell   results.Cell
		cpu    []map[string]int64 // ms in a window of 1 s, one a sample, the last for all further ones
		pacer  int                // ms
		placed []string
		want   want
	}{
		{"two roles", atMax, []map[string]int64{ns("client", 500, "server", 250)}, 0, nil, want{50, 25, -1, -1, 75, 1.5e6}},
		{"pooled, not a median", atMax, []map[string]int64{ns("client", 1000, "server", 1000), ns("client", 100, "server", 0)}, 0, nil,
			want{40, 33.333, -1, -1, 73.333, 1466666.667}},
		{"three roles", atMax, []map[string]int64{ns("client", 500, "server", 250, "broker", 900)}, 0, nil, want{50, 25, 90, -1, 165, 3.3e6}},
		{"publisher and subscribers", atMax, []map[string]int64{ns("publisher", 500, "subscriber", 100, "subscriber2", 200)}, 0, nil,
			want{50, 30, -1, -1, 80, 1.6e6}},
		{"one role", atMax, []map[string]int64{ns("client", 500)}, 0, nil, want{50, -1, -1, -1, 50, 1e6}},
		{"the pacer's own is apart", at100, []map[string]int64{ns("client", 900, "server", 50)}, 850, nil, want{5, 5, -1, 85, 10, 1000}},
		{"the pacer tells more than its process used", at100, []map[string]int64{ns("client", 800, "server", 50)}, 850, nil, want{0, 5, -1, 80, 5, 500}},
		{"paced, but nothing spun", at100, []map[string]int64{ns("client", 100, "server", 50)}, 0, nil, want{10, 5, -1, 0, 15, 1500}},
		{"nothing measured", atMax, []map[string]int64{nil}, 0, []string{"client", "server"}, want{-1, -1, -1, -1, -1, -1}},
		{"a sample lacks the server", atMax, []map[string]int64{ns("client", 500), ns("client", 500, "server", 250)}, 0, nil, want{50, -1, -1, -1, -1, -1}},
		{"the server is never measured", atMax, []map[string]int64{ns("client", 500)}, 0, []string{"client", "server"}, want{50, -1, -1, -1, -1, -1}},
		{"a server that used nothing", atMax, []map[string]int64{ns("client", 500, "server", 0)}, 0, []string{"client", "server"}, want{50, 0, -1, -1, 50, 1e6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ops := int64(500)
			if c.cell.Rate != 0 {
				ops = int64(c.cell.Rate)
			}
			list := tens(c.cell, ops, ops, ops)
			for i := range list {
				m := list[i].Measurement
				m.CPUNs, m.PacerNs = c.cpu[min(i, len(c.cpu)-1)], int64(c.pacer)*second/1000
				list[i].Placement = map[string]results.Placement{}
				for _, role := range c.placed {
					list[i].Placement[role] = results.Placement{}
				}
			}
			row := rowsOf(t, runOf(c.cell), list)[0]
			got := want{row.ClientCPU.Or(-1), row.ServerCPU.Or(-1), row.BrokerCPU.Or(-1), row.PacerCPU.Or(-1), row.TotalCPU.Or(-1), row.CPUNsOp.Or(-1)}
			if got != c.want {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestCounters(t *testing.T) {
	list := append(tens(atMax, 500, 500, 500, 500), ended(tens(atMax, 500, 500, 500, 500, 500), 4, results.Rejected, "ramp")[4])
	for i := range list {
		m := list[i].Measurement
		n := int64(i + 1)
		m.Sent, m.Received, m.Lost, m.Duplicated, m.Reordered = 1000*n, 100*n, 10*n, n, 0
		m.Hops, m.RequestBytes, m.ResponseBytes = 2, 96+n%2, 0
		m.RSS = map[string]int64{"client": 99, "server": 1000 * n}
	}
	row := rowsOf(t, runOf(atMax), list)[0]
	for _, c := range []struct {
		name string
		got  results.Num
		want float64
	}{
		{"sent", row.Sent, 10_000}, {"received", row.Received, 1000}, {"lost", row.Lost, 100}, {"duplicated", row.Duplicated, 10}, {"reordered", row.Reordered, 0},
		{"hops", row.Hops, 2}, {"request_bytes", row.RequestBytes, 97}, {"rss_bytes", row.RSSBytes, 2500}, {"samples", row.Samples, 4},
	} {
		if c.got != results.N(c.want) {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	empty(t, "response_bytes of a one-way scenario", row.ResponseBytes)
}

func TestReceiverRSS(t *testing.T) {
	for _, c := range []struct {
		rss  map[string]int64
		want int64
	}{
		{nil, 0},
		{map[string]int64{"client": 5}, 5},
		{map[string]int64{"client": 50, "server": 7, "broker": 90}, 7},
		{map[string]int64{"publisher": 50, "subscriber": 7, "subscriber2": 9}, 9},
	} {
		if got := receiverRSS(&results.Measurement{RSS: c.rss}); got != c.want {
			t.Errorf("%v: %d, want %d", c.rss, got, c.want)
		}
	}
}
