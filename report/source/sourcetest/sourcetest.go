// Package sourcetest writes run directories with fixed figures, for tests of what reads them.
package sourcetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"msgbench/results"
	"msgbench/results/hist"
	"msgbench/stability"
)

// Cell is a planned cell and what its samples measured, one a round.
type Cell struct {
	results.Cell
	Ops []int64 // operations of each sample's window of one second
	// Delivered is how many messages of each sample arrived, where that is not all: the others are lost.
	Delivered []int64
	P50       []int64 // service time of each sample in ns; one for all if it has one value, 10 µs if none
	Failed    string  // the reason of one failed sample, instead of samples
	// Calibrations stand in the run for no cell of its own: cache line and pipe in ns, a pair a round. Any of the cells may have them.
	Calibrations [][2]float64
	// Buckets is about how many buckets a histogram has, for tests of speed; 4 if it is 0.
	Buckets int
}

// PingPong is a cell between Go peers; rate 0 is max.
func PingPong(transport string, payload, rate int, ops ...int64) Cell {
	return Cell{Cell: results.Cell{
		Scenario: "ping-pong", Transport: transport, Client: "go", Server: "go", Payload: payload, Rate: rate,
		Defaults: map[string]string{"wait": "block"},
	}, Ops: ops}
}

// Flood is a broadcast that was not paced: published and delivered messages of each sample.
func Flood(transport string, published, delivered []int64) Cell {
	return Cell{Cell: results.Cell{Scenario: "broadcast", Transport: transport, Client: "go", Server: "go", Payload: 64,
		Defaults: map[string]string{"mode": "flood", "subscribers": "1"}}, Ops: published, Delivered: delivered}
}

// Timed gives a cell service times.
func (c Cell) Timed(p50 ...int64) Cell { c.P50 = p50; return c }

const second = int64(time.Second)

// Write makes a run directory at dir with run.json, journal and CSV.
func Write(dir string, cells ...Cell) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	run := results.Run{
		Version: results.FormatVersion, Created: time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC), Msgbench: "test", Suite: "test", Seed: 1,
		Pin: "default", Policy: results.DefaultPolicy(), Machine: "desk",
		Facts: []results.Fact{{Key: "machine", Value: "desk"}, {Key: "cpu", Value: "Model 1"}, {Key: "seed", Value: "1"}},
	}
	run.Policy.Reruns = 0
	var samples []results.Sample
	for _, c := range cells {
		run.Cells = append(run.Cells, c.Cell)
		if c.Failed != "" {
			samples = append(samples, results.Sample{Cell: c.Key(), Outcome: results.Failed, Reason: c.Failed})
		}
	}
	// By rounds, as a run writes them.
	for round := 0; ; round++ {
		any := false
		for _, c := range cells {
			if round < len(c.Calibrations) {
				samples = append(samples, results.Sample{Cell: results.CalibrationCell, Round: round, Outcome: results.Calibrated,
					Calibration: &results.Calibration{LineNs: c.Calibrations[round][0], PipeNs: c.Calibrations[round][1]}})
			}
			if round < len(c.Ops) {
				samples = append(samples, c.sample(round))
				any = true
			}
		}
		if !any {
			break
		}
	}
	if err := results.WriteRun(dir, run); err != nil {
		return err
	}
	j, err := results.OpenJournal(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return err
	}
	for i := range samples {
		samples[i].Version, samples[i].Order = results.FormatVersion, i
		if err := j.Append(samples[i]); err != nil {
			return err
		}
	}
	if err := j.Close(); err != nil {
		return err
	}
	rows, err := rowsOf(dir, run)
	if err != nil {
		return err
	}
	data, err := results.Table{Facts: run.Facts, Rows: rows}.MarshalCSV()
	if err != nil {
		return err
	}
	return results.WriteFile(filepath.Join(dir, results.CSVFile), data)
}

func rowsOf(dir string, run results.Run) (rows []results.Row, err error) {
	index, closeIndex, err := results.OpenIndex(filepath.Join(dir, results.JournalFile))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeIndex()) }()
	judged, err := stability.Judge(run, index)
	for _, j := range judged {
		rows = append(rows, j.Row)
	}
	return rows, err
}

// Against makes the run at dir, which has been written, one of two sides. pairs are indices of its cells.
func Against(dir, setting, a, b string, pairs ...[2]int) error {
	run, err := results.ReadRun(dir)
	if err != nil {
		return err
	}
	run.AB = &results.AB{Setting: setting, A: a, B: b}
	for _, p := range pairs {
		run.AB.Pairs = append(run.AB.Pairs, results.Pair{A: run.Cells[p[0]].Key(), B: run.Cells[p[1]].Key()})
	}
	return results.WriteRun(dir, run)
}

func (c Cell) sample(round int) results.Sample {
	p50 := int64(10_000)
	if len(c.P50) > 0 {
		p50 = c.P50[min(round, len(c.P50)-1)]
	}
	ops := c.Ops[round]
	m := &results.Measurement{
		Loop: results.Closed, LatencyKind: results.RTT, WindowNs: second, Ops: ops, Messages: ops,
		PayloadBytes: ops * int64(max(c.Payload, 0)), Sent: ops, Received: ops, Latency: times(p50, c.Buckets),
		CPUNs: map[string]int64{results.Client: second / 2, results.Server: second / 4},
	}
	if c.Delivered != nil {
		m.Messages, m.Received, m.Lost = c.Delivered[round], c.Delivered[round], ops-c.Delivered[round]
		m.Loop, m.LatencyKind, m.Latency = results.Open, "", nil
	}
	if c.Rate != 0 {
		m.Loop, m.LatencyKind = results.Paced, results.Response
		m.Service, m.Latency, m.Lateness = m.Latency, times(2*p50, c.Buckets), times(100, 0)
	}
	return results.Sample{Cell: c.Key(), Round: round, Outcome: results.OK, Measurement: m}
}

// times is a histogram of 2,000 values around p50, two thirds of them equal to it; more of them with more buckets.
func times(p50 int64, buckets int) *hist.Hist {
	key := [2]int64{p50, int64(buckets)}
	if h, ok := made.Load(key); ok {
		return h.(*hist.Hist)
	}
	type count struct{ ns, n int64 }
	counts := []count{{p50 * 9 / 10, 300}, {p50, 1400}, {p50 * 2, 280}, {p50 * 4, 20}}
	if buckets > len(counts) {
		counts = counts[:2]
		for ns := p50 + p50/500 + 1; len(counts) < buckets; ns += ns/500 + 1 {
			counts = append(counts, count{ns, 1 + ns%7})
		}
	}
	var values []byte
	var sum int64
	for i, c := range counts {
		if i > 0 {
			values = append(values, ',')
		}
		values = fmt.Appendf(values, "[%d,%d]", c.ns, c.n)
		sum += c.ns * c.n
	}
	h := new(hist.Hist)
	text := fmt.Sprintf(`{"min":%d,"max":%d,"sum":%d,"values":[%s]}`, counts[0].ns, counts[len(counts)-1].ns, sum, values)
	if err := h.UnmarshalJSON([]byte(text)); err != nil {
		panic(err) // a mistake in this package
	}
	made.Store(key, h)
	return h
}

// made holds the histograms so far; nobody changes them.
var made sync.Map
