package report

import (
	"math"
	"strings"
	"testing"

	"msgbench/report/charts"
	"msgbench/results"
	"msgbench/stability"
)

// flood is a broadcast without pacing, with two subscribers: what was published, and what of it was delivered, a second.
func flood(transport string, published, delivered float64) results.Row {
	r := measured("broadcast", transport, "go", "go", 64, 0, 1, published)
	r.Loop, r.Latency, r.Mode, r.Subscribers = results.Open, "", "flood", "2"
	r.MinUs, r.MeanUs, r.P50Us, r.P50Lo, r.P50Hi = results.Num{}, results.Num{}, results.Num{}, results.Num{}, results.Num{}
	r.P95Us, r.P99Us, r.P99Lo, r.P99Hi, r.MaxUs = results.Num{}, results.Num{}, results.Num{}, results.Num{}, results.Num{}
	r.MessagesPerS, r.Sent, r.Lost = results.N(delivered), results.N(published*2), results.N(published*2-delivered)
	return r
}

// sampled are the samples of a row, published and delivered as in the row but for what a round does to all.
func sampled(r results.Row) (list []*stability.Figures) {
	for round := range 6 {
		f := 1 + 0.01*float64(round)
		published, delivered := math.Floor(r.Throughput.Or(0)/f), math.Floor(r.MessagesPerS.Or(0)/f)
		list = append(list, &stability.Figures{Round: round, Throughput: published, Speed: delivered})
	}
	return list
}

// Who drops most of what it publishes is never the best: broadcasts are compared by what was delivered, in every style.
func TestDroppedBroadcastsDoNotWin(t *testing.T) {
	rows := []results.Row{flood("zmq-tcp", 300e3, 40e3), flood("tcp", 110e3, 220e3), flood("uds", 100e3, 200e3)}
	d := Document{Table: results.Table{Rows: rows}, Samples: map[string][]*stability.Figures{}}
	for _, r := range rows {
		d.Samples[r.Cell] = sampled(r)
	}
	line := func(text, start string) string {
		for l := range strings.Lines(text) {
			if strings.HasPrefix(l, start) {
				return strings.TrimSpace(l)
			}
		}
		return "none"
	}
	text := Comparison(d)
	for start, want := range map[string]string{
		"| Transport | Verdict |": "| Transport | Verdict | min | mean | p50 | p95 | p99 | delivery rate |",
		"| zmq-tcp | stable":      "| zmq-tcp | stable |  |  |  |  |  | 40.0k |",
		"| broadcast · flood":     "| broadcast · flood · 2 subscribers · 64 B · max rate · open loop | – | – | – | – | – | tie: tcp, uds |",
		"- ": "- tcp has the highest delivery rate of 3 in “broadcast · flood · 2 subscribers · 64 B · max rate · open loop”: 220.0k/s (215.6k – 224.4k); " +
			"for the next, uds, it is 1.10 (1.10 – 1.10, 96.88 %, round by round, 6 rounds) times less. Rows: `broadcast/tcp/go-go/64B/max`, `broadcast/uds/go-go/64B/max`.",
	} {
		_, after, _ := strings.Cut(text, "## Claims")
		from := text
		if start == "- " {
			from = after
		}
		if got := line(from, start); got != want {
			t.Errorf("comparison:\n got %s\nwant %s", got, want)
		}
	}
	if got := line(RankingPage(d), "| 1 |"); !strings.HasPrefix(got, "| 1 | tcp | 1.00 |") {
		t.Errorf("ranking: %s", got)
	}
	for start, want := range map[string]string{
		"| # |": "| # | transport | per second | interval | delivered/s | lost % |",
		"| 1 |": "| 1 | tcp | 110.0k | 107.8k – 112.2k | 220.0k | 0.00 |",
		"| 3 |": "| 3 | zmq-tcp | 300.0k | 294.0k – 306.0k | 40.0k | 93.33 |",
	} {
		if got := line(Markdown(d), start); !strings.HasPrefix(got, want) {
			t.Errorf("run:\n got %s\nwant %s", got, want)
		}
	}
	if got := line(Matrix(d), "| go | go | 300.0k"); !strings.HasSuffix(got, " | 40.0k | 93.33 |") {
		t.Errorf("matrix: %s", got)
	}
	if got := Platforms([]Document{d, d}); strings.Count(got, " | 40.0k | 93.33 |\n") != 2 || strings.Count(got, "delivered/s") != 1 {
		t.Errorf("platforms:\n%s", got)
	}
	var order []string
	for _, r := range charts.Split(d.AllRows())[0].Rows {
		order = append(order, r.Transport)
	}
	if got := strings.Join(order, " "); got != "tcp uds zmq-tcp" {
		t.Errorf("charts and tables of the page: %s", got)
	}
}

// A claim has to hold against all of the table: the interval of a third row may reach where that of the second does not.
func TestTheThirdMayBeAsGood(t *testing.T) {
	rows := []results.Row{measured("ping-pong", "shm", "go", "go", 64, 0, 1, 1e6), measured("ping-pong", "uds", "go", "go", 64, 0, 2, 5e5),
		measured("ping-pong", "tcp", "go", "go", 64, 0, 3, 3e5)}
	d := Document{Table: results.Table{Rows: rows}}
	if text := Comparison(d); !strings.Contains(text, "shm has the lowest p50 of 3") || !strings.Contains(text, "| **1.00** |") {
		t.Errorf("all are apart:\n%s", text)
	}
	rows[2].P50Lo, rows[2].P50Hi = results.N(0.9), results.N(9)
	if text := Comparison(d); strings.Contains(text, "lowest p50") || strings.Contains(text, "**1.00**") || !strings.Contains(text, "| tie: shm, uds |") {
		t.Errorf("tcp may be as good:\n%s", text)
	}
}

// At a rate that a payload is too much for, the response time grows with the window: that is no sensitivity to the payload.
func TestSensitivityLeavesOutOversubscribed(t *testing.T) {
	rows := []results.Row{measured("ping-pong", "tcp", "go", "go", 64, 1000, 10, 1000), measured("ping-pong", "tcp", "go", "go", 1024, 1000, 12, 1000),
		measured("ping-pong", "tcp", "go", "go", 65536, 1000, 90_000, 700)}
	rows[2].Verdict = results.Oversubscribed
	var b strings.Builder
	sensitivity(&b, rows)
	if text := b.String(); strings.Contains(text, "65536") || !strings.Contains(text, "| ping-pong, 1000/s, response time | tcp | 1024 | 9.60 | 12.00 | 13.20 | +2.00 (+20 %) |") {
		t.Error(text)
	}
}

// A flood has no latency: its rows are complete without.
func TestMatrixExpectsNoLatencyOfAFlood(t *testing.T) {
	d := Document{Table: results.Table{Rows: []results.Row{flood("tcp", 110e3, 220e3)}}}
	if v := validate(d); len(v.faults) > 0 || v.groups[0].actual != 1 {
		t.Errorf("%v, %d rows", v.faults, v.groups[0].actual)
	}
	d.Rows[0].Mode, d.Rows[0].Latency = "pull", results.OneWay
	if v := validate(d); len(v.faults) != 1 || !strings.HasSuffix(v.faults[0], "no latency") {
		t.Errorf("one that is paced by its subscribers: %v", v.faults)
	}
}

// The ranking is over all tables: a transport is the same one in broadcasts of another mode and to more subscribers.
func TestRankingOverModes(t *testing.T) {
	var rows []results.Row
	for i, transport := range []string{"uds", "tcp"} {
		p50 := float64(4 + i)
		pull := measured("broadcast", transport, "go", "go", 64, 0, p50, 1e6/p50)
		pull.Cell, pull.Mode, pull.Subscribers = pull.Cell+"/mode=pull/subscribers=4/wait=spin", "pull", "4"
		direct := measured("ping-pong", transport, "go", "go", 64, 0, p50, 1e6/p50)
		direct.Cell += "/wait=spin"
		rows = append(rows, direct, pull)
	}
	text := RankingPage(Document{Table: results.Table{Rows: rows}})
	for _, want := range []string{"\n| 1 | uds wait=spin | 1.00 |", "\n| 2 | tcp wait=spin | 1.25 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
