package cli

import (
	"math"
	"time"

	"msgbench/bench"
	"msgbench/results"
	"msgbench/stability"
)

// event is the head of every line.
type event struct {
	V     int       `json:"v"`
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
}

type beginEvent struct {
	event
	How      string  `json:"how"`
	Dir      string  `json:"dir"`
	Suite    string  `json:"suite"`
	Seed     uint64  `json:"seed"`
	Machine  string  `json:"machine"`
	Msgbench string  `json:"msgbench"`
	Cells    int     `json:"cells"`
	Samples  int     `json:"samples"` // a cell, at least
	Seconds  float64 `json:"seconds"`
}

type roundEvent struct {
	event
	Attempt int `json:"attempt"`
	Round   int `json:"round"`
	Rounds  int `json:"rounds"`
	Cells   int `json:"cells"`
}

type startEvent struct {
	event
	Cell    string  `json:"cell"`
	Place   int     `json:"place"`
	Total   int     `json:"total"`
	LeftSec float64 `json:"left_seconds"`
	Rate    int     `json:"offered_rps,omitempty"`
}

type sampleEvent struct {
	event
	Cell       string   `json:"cell"`
	Outcome    string   `json:"outcome"`
	Reason     string   `json:"reason,omitempty"`
	Attempt    int      `json:"attempt"`
	Round      int      `json:"round"`
	Try        int      `json:"try"`
	WallSec    float64  `json:"wall_seconds"`
	Throughput *float64 `json:"throughput,omitempty"`
	P50us      *float64 `json:"p50_us,omitempty"`
	Rate       int      `json:"offered_rps,omitempty"`
	Holds      *bool    `json:"holds,omitempty"`
}

type calibrationEvent struct {
	event
	Round  int      `json:"round"` // over all attempts
	LineNs *float64 `json:"cache_line_ns,omitempty"`
	PipeNs *float64 `json:"pipe_ns,omitempty"`
	// Ratios of the two to their medians over the run until then.
	LineIndex *float64 `json:"cache_line_index,omitempty"`
	PipeIndex *float64 `json:"pipe_index,omitempty"`
	Reason    string   `json:"reason,omitempty"`
}

type rerunEvent struct {
	event
	Cells   []string `json:"cells"`
	Seconds float64  `json:"seconds"`
}

type widthEvent struct {
	event
	Samples    int      `json:"samples"`
	Throughput *float64 `json:"throughput_pct,omitempty"`
	P50        *float64 `json:"p50_pct,omitempty"`
}

type moreEvent struct {
	event
	Cells   []string `json:"cells"`
	Rounds  int      `json:"rounds"`
	Seconds float64  `json:"seconds"`
}

type rowEvent struct {
	event
	Cell       string   `json:"cell"`
	Verdict    string   `json:"verdict"`
	Reason     string   `json:"reason,omitempty"`
	Throughput *float64 `json:"throughput,omitempty"`
	Lo         *float64 `json:"throughput_lo,omitempty"`
	Hi         *float64 `json:"throughput_hi,omitempty"`
	P50us      *float64 `json:"p50_us,omitempty"`
	P99us      *float64 `json:"p99_us,omitempty"`
}

type endEvent struct {
	event
	Dir      string         `json:"dir"`
	Samples  int            `json:"samples"`
	Verdicts map[string]int `json:"verdicts,omitempty"`
	Error    string         `json:"error,omitempty"`
}

func head(name string) event { return event{eventsVersion, time.Now().UTC(), name} }

func (e *events) begin(c chosen, run results.Run, dir, how string, takes time.Duration) {
	least, _ := bench.SampleCounts(c.policy)
	e.emit(beginEvent{head("begin"), how, dir, c.suite.Name, c.seed, run.Machine, run.Msgbench, len(c.cells), least, takes.Seconds()})
}

func (e *events) round(r bench.RoundInfo) {
	e.emit(roundEvent{head("round"), r.Attempt, r.Number, r.Of, r.Cells})
}

func (e *events) before(cell results.Cell, place, total int, left time.Duration) {
	e.emit(startEvent{event: head("start"), Cell: cell.Key(), Place: place, Total: total, LeftSec: left.Seconds()})
}

func (e *events) step(cell results.Cell, place, rate int) {
	e.emit(startEvent{event: head("start"), Cell: cell.Key(), Place: place, Rate: rate})
}

func (e *events) sample(s results.Sample) {
	if e == nil {
		return
	}
	v := sampleEvent{event: head("sample"), Cell: s.Cell, Outcome: s.Outcome, Reason: s.Reason, Attempt: s.Attempt, Round: s.Round,
		Try: s.Try, WallSec: time.Duration(s.WallNs).Seconds()}
	if m := s.Measurement; m != nil {
		v.Throughput = finite(m.Throughput())
		if m.Latency != nil {
			if ns, ok := m.Latency.Quantile(0.5); ok {
				v.P50us = finite(float64(ns) / 1e3)
			}
		}
	}
	if s.Step != nil {
		v.Rate, v.Holds = s.Step.Rate, &s.Step.Holds
	}
	e.emit(v)
}

func (e *events) calibration(s results.Sample) {
	v := calibrationEvent{event: head("calibration"), Round: s.Round, Reason: s.Reason}
	if c := s.Calibration; c != nil {
		v.LineNs, v.PipeNs = finite(c.LineNs), finite(c.PipeNs)
		v.LineIndex, v.PipeIndex = finite(c.LineIndex), finite(c.PipeIndex)
	}
	e.emit(v)
}

func (e *events) rerun(keys []string, takes time.Duration) {
	e.emit(rerunEvent{head("rerun"), keys, takes.Seconds()})
}

func (e *events) width(w stability.Width) {
	e.emit(widthEvent{head("width"), w.Samples, finite(100 * w.Throughput), finite(100 * w.P50)})
}

func (e *events) more(keys []string, rounds int, takes time.Duration) {
	e.emit(moreEvent{head("more"), keys, rounds, takes.Seconds()})
}

func (e *events) row(r results.Row) {
	e.emit(rowEvent{head("row"), r.Cell, r.Verdict, r.Reason, number(r.Throughput), number(r.ThroughputLo), number(r.ThroughputHi),
		number(r.P50Us), number(r.P99Us)})
}

// end is the last line: end, interrupted, or failed.
func (e *events) end(name, dir string, samples int, rows []results.Row, err error) {
	v := endEvent{event: head(name), Dir: dir, Samples: samples}
	for _, r := range rows {
		if v.Verdicts == nil {
			v.Verdicts = map[string]int{}
		}
		v.Verdicts[r.Verdict]++
	}
	if err != nil {
		v.Error = err.Error()
	}
	e.emit(v)
}

// number is a field of a row, nil where it is empty.
func number(n results.Num) *float64 {
	if v, ok := n.Value(); ok {
		return finite(v)
	}
	return nil
}

// finite is v where JSON has such a number.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
