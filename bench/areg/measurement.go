package areg

import (
	"msgbench/results"
	"msgbench/scenarios"
)

// Bytes on the wire beside the payload: a header of 128, a number and a stamp; a reply has one stamp more.
const (
	baseBytes  = 128 + 4 + 8
	replyBytes = baseBytes + 8
)

// hops are the sockets on the way: to the router and from it.
const hops = 2

// slack is how long the consumer may take between two operations beyond what the loop itself explains, before the loop is
// one with pauses: a sleep of 60 µs or more is what older versions had.
const slack = 20_000

// Measurement is what a window of that cell has measured. clockError is the bound of the error of one-way latencies in ns, as
// far as the clock is the cause; counted tells that the window's length was a number of operations.
func (s *Samples) Measurement(c results.Cell, clockError int64, counted bool) *results.Measurement {
	n := int64(len(s.Ends))
	m := &results.Measurement{
		Loop: results.Closed, LatencyKind: results.RTT, WindowNs: s.Ends[n-1] - s.First, Ops: n, Messages: n,
		PayloadBytes: n * int64(c.Payload), Sent: n, Received: n, Latency: s.Latency, Hops: hops,
		RequestBytes: int64(baseBytes + c.Payload),
	}
	if c.Scenario == scenarios.PingPong.Name {
		m.ResponseBytes = int64(replyBytes + c.Payload)
	} else {
		m.LatencyKind, m.ClockErrorNs = results.OneWay, max(clockError, s.Step)
		m.Receivers = []results.Counts{{Received: n}}
	}
	if s.pauses(c) {
		m.Loop = results.Pausing
	}
	m.Thirds, m.ThirdsNs = s.thirds(counted)
	return m
}

// pauses tells whether the consumer sleeps between operations. In ping-pong it has nothing to do there; in broadcast it asks
// for the next message, which takes about as long as the message.
func (s *Samples) pauses(c results.Cell) bool {
	between, ok := s.Between.Quantile(0.5)
	latency, ok2 := s.Latency.Quantile(0.5)
	if !ok || !ok2 {
		return false
	}
	if c.Scenario == scenarios.PingPong.Name {
		return between > latency/10+slack
	}
	return between > 2*latency+slack
}

// thirds are the operations in each third of the window, or how long each third of the operations took.
func (s *Samples) thirds(counted bool) (ops, ns []int64) {
	n := len(s.Ends)
	last := s.Ends[n-1]
	from, began := 0, s.First
	for k := 1; k <= 3; k++ {
		till := n * k / 3
		ended := s.First + (last-s.First)*int64(k)/3
		if !counted {
			for till = from; till < n && s.Ends[till] <= ended; till++ {
			}
		} else if till > 0 {
			ended = s.Ends[till-1]
		}
		ops, ns = append(ops, int64(till-from)), append(ns, ended-began)
		from, began = till, ended
	}
	return ops, ns
}
