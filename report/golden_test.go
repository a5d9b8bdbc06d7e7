package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"msgbench/report/internal/golden"
	"msgbench/results"
	"msgbench/results/hist"
	"msgbench/stability"
)

// measured is a row as a run gives it: latencies and throughput around the given ones.
func measured(scenario, transport, client, server string, payload, rate int, p50, perSecond float64) results.Row {
	c := results.Cell{Scenario: scenario, Transport: transport, Client: client, Server: server, Payload: payload, Rate: rate}
	r := results.Row{
		Cell: c.Key(), Scenario: scenario, Transport: transport, Client: client, Server: server, Loop: results.Closed,
		TargetRPS: results.RateString(rate), Wait: "block", Options: "nodelay=on",
		Throughput: results.N(perSecond), ThroughputLo: results.N(perSecond * 0.98), ThroughputHi: results.N(perSecond * 1.02),
		MessagesPerS: results.N(perSecond), MBPerS: results.N(perSecond * float64(max(payload, 0)) / 1e6), Latency: results.RTT,
		MinUs: results.N(p50 * 0.8), MinLo: results.N(p50 * 0.8), MinHi: results.N(p50 * 0.82), MeanUs: results.N(p50 * 1.1), P50Us: results.N(p50), P50Lo: results.N(p50 * 0.97), P50Hi: results.N(p50 * 1.03),
		P95Us: results.N(p50 * 2), P99Us: results.N(p50 * 3), P99Lo: results.N(p50 * 2.5), P99Hi: results.N(p50 * 4), MaxUs: results.N(p50 * 90),
		ClientCPU: results.N(46.3), ServerCPU: results.N(93.2), TotalCPU: results.N(139.5), Lost: results.N(0),
		Samples: results.N(5), CoreSamples: results.N(3), CoreRatio: results.N(1.02), RawRatio: results.N(1.1), DriftPct: results.N(0.5),
		Hops: results.N(1), RequestBytes: results.N(float64(payload + 32)), ResponseBytes: results.N(float64(payload + 32)),
		CPURelation: "core", Machine: "desk", Source: "measured", Verdict: results.Stable,
	}
	if payload != results.NoPayload {
		r.Payload = results.N(float64(payload))
	}
	if rate > 0 {
		r.Loop, r.Latency = results.Paced, results.Response
		r.SvcP50Us, r.SvcP95Us, r.SvcP99Us, r.LateP99 = results.N(p50*0.9), results.N(p50*1.8), results.N(p50*2.9), results.N(12)
	}
	return r
}

// document is a run with rows of every kind.
func document() Document {
	rows := []results.Row{
		measured("ping-pong", "shm", "go", "go", 64, 0, 0.8, 1.2e6),
		measured("ping-pong", "shm", "go", "go", 1024, 0, 1.4, 700e3),
		measured("ping-pong", "uds", "go", "go", 64, 0, 4.2, 230e3),
		measured("ping-pong", "uds", "c", "go", 64, 0, 4.25, 229e3),
		measured("ping-pong", "uds", "go", "go", 1024, 0, 4.4, 210e3),
		measured("ping-pong", "tcp", "go", "go", 64, 0, 7.1, 135e3),
		measured("ping-pong", "tcp", "go", "go", 1024, 0, 7.6, 125e3),
		measured("ping-pong", "shm", "go", "go", 64, 10000, 1.1, 10000),
		measured("ping-pong", "uds", "go", "go", 64, 10000, 5.2, 10000),
		measured("ping-pong", "tcp", "go", "go", 64, 10000, 900, 8000),
		measured("snapshot", "uds", "go", "go", results.NoPayload, 0, 6.5, 150e3),
		measured("data-rate", "tcp", "go", "go", 1024, 0, 55, 2.1e6),
		measured("lookup", "-", "go", "go", results.NoPayload, 0, 0, 104e6),
	}
	at := func(key string) *results.Row {
		for i := range rows {
			if rows[i].Cell == key {
				return &rows[i]
			}
		}
		panic(key)
	}
	at("ping-pong/tcp/go-go/64B/10000").Verdict = results.Oversubscribed
	r := at("ping-pong/tcp/go-go/1024B/max")
	r.Verdict, r.Reason = results.Unstable, "core 1.92 > 1.35"
	r = at("snapshot/uds/go-go/-/max")
	*r = results.Row{Cell: r.Cell, Scenario: r.Scenario, Transport: r.Transport, Client: r.Client, Server: r.Server, TargetRPS: r.TargetRPS,
		Loop: r.Loop, Machine: r.Machine, Source: r.Source, Samples: results.N(0), Verdict: results.Failed, Reason: "server: <b>|panic|</b>"}
	r = at("data-rate/tcp/go-go/1024B/max")
	r.Loop, r.Latency, r.Ceiling, r.CeilingFails = results.Open, results.OneWay, results.N(1.6e6), results.N(1.7e6)
	r.PeakPerS, r.PeakMBPerS, r.Sustained, r.SustainedMB = results.N(2.3e6), results.N(2355.2), results.N(2.05e6), results.N(2099.2)
	r = at("lookup/-/go-go/-/max")
	r.Latency, r.MinUs, r.MeanUs, r.P50Us, r.P50Lo, r.P50Hi = "", results.Num{}, results.Num{}, results.Num{}, results.Num{}, results.Num{}
	r.P95Us, r.P99Us, r.P99Lo, r.P99Hi, r.MaxUs = results.Num{}, results.Num{}, results.Num{}, results.Num{}, results.Num{}

	run := results.Run{Version: 1, Machine: "desk", Suite: "quick", Seed: 7, Policy: results.DefaultPolicy(),
		Environment: []byte(`{"memory":{"type":"DDR5 5600 MT/s"}}`)}
	d := Document{Name: "20260101T000000Z", Run: &run, Samples: map[string][]*stability.Figures{},
		Calibrations: []stability.Calibration{{Series: []stability.Series{
			{Name: "cache line", Rounds: []int{0, 1, 2, 2, 3, 4}, Ns: []float64{101.2, 99, 100, 100.5, 150, 98}},
			{Name: "pipe", Rounds: []int{0, 1, 2, 2, 3, 4}, Ns: []float64{5210, 5300, 5190, 5200, 5900, 5000}},
		}, Failed: []string{"round 3: client: <b>|killed|</b>"}}}}
	for _, r := range rows {
		c := results.Cell{Scenario: r.Scenario, Transport: r.Transport, Client: r.Client, Server: r.Server, Payload: results.NoPayload}
		if v, ok := r.Payload.Value(); ok {
			c.Payload = int(v)
		}
		if r.TargetRPS != "max" {
			c.Rate = 10000
		}
		run.Cells = append(run.Cells, c)
		if r.Verdict == results.Failed {
			continue
		}
		for round := range 5 {
			f := 1 + 0.01*float64(round) // drift that hits all cells alike
			s := &stability.Figures{Round: round, Throughput: math.Floor(r.Throughput.Or(0) / f), Speed: math.Floor(r.Throughput.Or(0) / f),
				P50: math.NaN(), P99: math.NaN()}
			if p50, ok := r.P50Us.Value(); ok {
				h := hist.New()
				for i := range 2000 {
					h.Record(int64(p50 * 1e3 * f * (0.9 + 0.2*float64(i)/2000)))
				}
				half, _ := h.Quantile(0.5)
				most, _ := h.Quantile(0.99)
				s.P50, s.P99 = float64(half), float64(most)
			}
			d.Samples[r.Cell] = append(d.Samples[r.Cell], s)
		}
	}
	run.Cells = append(run.Cells, results.Cell{Scenario: "ping-pong", Transport: "pipe", Client: "go", Server: "go", Payload: 64})
	d.Rows = rows
	d.Facts = []results.Fact{{Key: "machine", Value: "desk"}, {Key: "date", Value: time.Unix(1.7e9, 0).UTC().Format(time.RFC3339)},
		{Key: "msgbench", Value: "v1.0.0"}, {Key: "distribution", Value: "Debian 13"}, {Key: "kernel", Value: "6.18.0"},
		{Key: "cpu", Value: "13th Gen Intel(R) Core(TM) i7-13700H"}, {Key: "suite", Value: "quick"}, {Key: "seed", Value: "7"},
		{Key: "placement", Value: "client on CPU 0, server on CPU 1"}}
	d.Notes = []stability.Note{{Kind: stability.NoteOutlier, Cell: "ping-pong/shm/go-go/64B/max",
		Text: "raw max/min of throughput 1.52 > 1.35, core 1.02", At: []stability.Place{{Line: 3, Round: 0}, {Line: 9, Round: 1}}}}
	return d
}

// reference is a published table that has a counterpart of one measured row and rows without any.
func reference(t *testing.T) results.Table {
	t.Helper()
	return imported(t, sourceNetipc, "netipc.csv", netipcColumns+"\n"+
		"uds-ping-pong,c,c,0,250000.000,3.500,5.100,9.000,90.000,91.000,180.000\n"+
		"uds-ping-pong,go,go,0,200000.000,4.500,6.100,10.000,90.000,91.000,180.000\n")
}

func imported(t *testing.T, format, name, data string) results.Table {
	t.Helper()
	table, err := Import(format, name, []byte(data), "")
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestStyles(t *testing.T) {
	for _, s := range Styles {
		t.Run(s.Name, func(t *testing.T) { golden.Check(t, s.Name+".md.golden", s.Render(document())) })
	}
	t.Run("reference", func(t *testing.T) {
		d := document()
		d.Rows = append(d.Rows, measured("ping-pong", "uds", "go", "go", 8, 0, 4.1, 235e3))
		d.Run = nil
		d.References = []results.Table{reference(t)}
		for _, s := range Styles {
			golden.Check(t, s.Name+"-reference.md.golden", s.Render(d))
		}
	})
	t.Run("platforms", func(t *testing.T) {
		a, b := document(), document()
		b.Facts = append([]results.Fact{{Key: "machine", Value: "laptop | <i>"}}, b.Facts[1:]...)
		for i := range b.Rows {
			b.Rows[i].Machine = "laptop | <i>"
			b.Rows[i].P50Us = results.N(b.Rows[i].P50Us.Or(0) * 2)
		}
		b.Rows = b.Rows[:9]
		golden.Check(t, "platforms.md.golden", Platforms([]Document{a, b}))
	})
	t.Run("nothing", func(t *testing.T) {
		for _, s := range Styles {
			if got := s.Render(Document{Name: "empty.csv"}); !strings.HasSuffix(got, "\n") {
				t.Errorf("%s: %q", s.Name, got)
			}
		}
	})
}

// TestSameBytes renders twice: maps must not decide an order.
func TestSameBytes(t *testing.T) {
	for _, s := range Styles {
		first := s.Render(document())
		for range 5 {
			if s.Render(document()) != first {
				t.Fatalf("%s differs from one time to the next", s.Name)
			}
		}
	}
}

// TestClaimsFromCSV: without samples the intervals of the rows decide, and they are wider.
func TestClaimsFromCSV(t *testing.T) {
	d := document()
	d.Samples = nil
	got := Comparison(d)
	if !strings.Contains(got, "from the intervals of the rows") || strings.Contains(got, "round by round") {
		t.Error("claims do not say where their intervals come from")
	}
	for i := range d.Rows {
		d.Rows[i].P50Lo, d.Rows[i].P99Lo, d.Rows[i].ThroughputLo, d.Rows[i].MinLo = results.Num{}, results.Num{}, results.Num{}, results.Num{}
	}
	if got := Comparison(d); !strings.Contains(got, "\nNone: no two publishable rows") || strings.Contains(got, "**") {
		t.Error("a claim, or a winner in bold, without an interval")
	}
}

// TestUnreliableNeverWins: the fastest rows are unstable, imported, or of another machine.
func TestUnreliableNeverWins(t *testing.T) {
	d := document()
	for _, verdict := range []string{results.Unstable, results.Imported, results.Failed, results.Skipped} {
		x := document()
		x.Rows[0].Verdict = verdict
		for _, s := range []func(Document) string{Comparison, RankingPage} {
			text := s(x)
			if strings.Contains(text, "| 1 | shm |") || strings.Contains(text, "**1.20M**") || strings.Contains(text, "shm has the lowest p50 of 3") {
				t.Errorf("a row that is %s wins:\n%s", verdict, text)
			}
		}
	}
	for i := range d.Rows {
		d.Rows[i].Machine = d.Rows[i].Transport // one machine each
	}
	if text := Comparison(d); strings.Contains(text, "shm has the") {
		t.Errorf("a winner over machines:\n%s", text)
	}
	if text := RankingPage(d); strings.Contains(text, "2 | tcp") || strings.Contains(text, "2 | shm") {
		t.Errorf("a ranking over machines:\n%s", text)
	}
}
