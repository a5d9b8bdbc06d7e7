package stability

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"msgbench/results"
	"msgbench/results/hist"
)

// The cells of most tests: a pair at max and at 100,000/s.
var (
	atMax = results.Cell{Scenario: "ping-pong", Transport: "shm", Client: "go", Server: "go", Payload: 64}
	at100 = results.Cell{Scenario: "ping-pong", Transport: "shm", Client: "go", Server: "go", Payload: 64, Rate: 100_000}
)

const second = int64(time.Second)

func runOf(cells ...results.Cell) results.Run {
	return results.Run{Policy: results.DefaultPolicy(), Cells: cells, Pin: "default", Machine: "desk"}
}

// flat is a histogram of 100 equal values.
func flat(ns int64) *hist.Hist {
	return counted(map[int64]int64{ns: 100})
}

// counted is a histogram of so many of each value, as read from a journal: a recorded one would take 220 KB.
func counted(counts map[int64]int64) *hist.Hist {
	var w struct {
		Min    int64      `json:"min"`
		Max    int64      `json:"max"`
		Sum    int64      `json:"sum"`
		Values [][2]int64 `json:"values"`
	}
	for _, ns := range slices.Sorted(maps.Keys(counts)) {
		w.Values = append(w.Values, [2]int64{ns, counts[ns]})
		w.Sum += ns * counts[ns]
	}
	if n := len(w.Values); n > 0 {
		w.Min, w.Max = w.Values[0][0], w.Values[n-1][0]
	}
	data, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	h := new(hist.Hist)
	if err := h.UnmarshalJSON(data); err != nil {
		panic(err)
	}
	return h
}

// measured is a sample of one second with ops operations, service time p50 and response time 2 × p50.
func measured(c results.Cell, round int, ops, p50 int64) results.Sample {
	m := &results.Measurement{
		Loop: results.Closed, LatencyKind: results.RTT, WindowNs: second, Ops: ops, Messages: ops, PayloadBytes: 64 * ops,
		Sent: ops, Received: ops, Latency: flat(p50), Thirds: []int64{ops / 3, ops / 3, ops / 3},
		CPUNs: map[string]int64{results.Client: second / 2, results.Server: second / 4},
	}
	if c.Rate != 0 {
		m.Loop, m.LatencyKind = results.Paced, results.Response
		m.Service, m.Latency, m.Lateness = m.Latency, flat(2*p50), flat(100)
	}
	return results.Sample{Version: results.FormatVersion, Cell: c.Key(), Order: round, Round: round, Outcome: results.OK, Measurement: m}
}

// tens are samples of a cell with so many operations a second, and a p50 of 10 µs.
func tens(c results.Cell, ops ...int64) []results.Sample {
	list := make([]results.Sample, len(ops))
	for i, n := range ops {
		list[i] = measured(c, i, n, 10_000)
	}
	return list
}

// timed are samples that deliver their rate, with so many ns of p50.
func timed(c results.Cell, p50 ...int64) []results.Sample {
	list := make([]results.Sample, len(p50))
	for i, ns := range p50 {
		list[i] = measured(c, i, int64(c.Rate), ns)
	}
	return list
}

// again makes a later attempt of samples.
func again(attempt int, list []results.Sample) []results.Sample {
	for i := range list {
		list[i].Attempt = attempt
		list[i].Round += 100 * attempt
		list[i].Order += 100 * attempt
	}
	return list
}

// ended makes sample i one of another outcome.
func ended(list []results.Sample, i int, outcome, reason string) []results.Sample {
	list[i].Outcome, list[i].Reason = outcome, reason
	if outcome != results.Rejected {
		list[i].Measurement = nil
	}
	return list
}

func rowsOf(t testing.TB, run results.Run, samples ...[]results.Sample) []results.Row {
	t.Helper()
	rows, err := rowsFrom(run, flatten(samples))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(run.Cells) {
		t.Fatalf("%d rows of %d cells", len(rows), len(run.Cells))
	}
	return rows
}

// slice is a journal in memory.
type slice []results.Sample

// journal numbers samples as lines, where they have no number yet.
func journal(samples []results.Sample) slice {
	s := slices.Clone(samples)
	for i := range s {
		s[i].Line = cmp.Or(s[i].Line, i+1)
	}
	return s
}

func (s slice) Cells() []string {
	var keys []string
	for _, x := range s {
		if !slices.Contains(keys, x.Cell) {
			keys = append(keys, x.Cell)
		}
	}
	return keys
}

func (s slice) Of(cell string) iter.Seq2[results.Sample, error] {
	return func(yield func(results.Sample, error) bool) {
		for _, x := range s {
			if x.Cell == cell && !yield(x, nil) {
				return
			}
		}
	}
}

func rowsFrom(run results.Run, samples []results.Sample) ([]results.Row, error) {
	judged, err := Judge(run, journal(samples))
	return collect(judged, func(j Judged) []results.Row { return []results.Row{j.Row} }), err
}

func notesFrom(run results.Run, samples []results.Sample) ([]Note, error) {
	judged, err := Judge(run, journal(samples))
	return collect(judged, func(j Judged) []Note { return j.Notes }), err
}

func collect[T any](judged []Judged, of func(Judged) []T) (all []T) {
	for _, j := range judged {
		all = append(all, of(j)...)
	}
	return all
}

func flatten(lists [][]results.Sample) []results.Sample {
	var all []results.Sample
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func check(t *testing.T, row results.Row, verdict, reason string) {
	t.Helper()
	if row.Verdict != verdict || row.Reason != reason {
		t.Errorf("%s: %s %q\nwant %s %q", row.Cell, row.Verdict, row.Reason, verdict, reason)
	}
}
