package scenarios

import (
	"errors"
	"fmt"
	"math"

	"msgbench/results"
	"msgbench/results/hist"
)

// What a process says of itself is checked against what the others say, and against itself, since it may be a program of
// anybody's: figures that contradict each other are no figures.

// account is what the figures of the client of a scenario of requests and replies must be.
type account struct {
	kind     string   // of its latencies
	messages [2]int64 // of each turn of its loop: at least, at most
	items    [2]int64 // operations of a message
	payload  int64    // bytes that came back for an operation
	ahead    int64    // requests in flight beside that of the turn
}

// onlyOne is an account of one message a turn.
func onlyOne(p Params, payload int) account {
	return account{kind: latencyKind(p), messages: [2]int64{1, 1}, items: [2]int64{1, 1}, payload: int64(payload)}
}

// joinReplies checks that every message of a client-server scenario was answered once, and that every turn of the client's
// loop was timed: a part of them would pass for all.
func joinReplies(of func(Params) account) func(Params, *results.Measurement, []*results.Measurement) error {
	return func(p Params, m *results.Measurement, others []*results.Measurement) error {
		for _, o := range others {
			if o.Received != m.Sent {
				return fmt.Errorf("the client sent %d messages in the window, the server received %d", m.Sent, o.Received)
			}
		}
		if m.Received != m.Sent || m.Lost != 0 || m.Duplicated != 0 || m.Reordered != 0 {
			return fmt.Errorf("the client received %d replies to %d messages: %d lost, %d twice, %d late, and none may be",
				m.Received, m.Sent, m.Lost, m.Duplicated, m.Reordered)
		}
		return clientAccount(p, m, of(p))
	}
}

// clientAccount checks the figures of a client by themselves.
func clientAccount(p Params, m *results.Measurement, a account) error {
	loop := results.Closed
	if p.Rate > 0 {
		loop = results.Paced
	}
	if err := words(m, loop, a.kind); err != nil {
		return fmt.Errorf("the client %w", err)
	}
	turns, err := turnsOf(p, m)
	if err != nil {
		return fmt.Errorf("the client: %w", err)
	}
	if err := counted(turns, "operations in the three thirds of the window", timed{"latencies", m.Latency, true},
		timed{"service times", m.Service, p.Rate > 0}, timed{"values of its own lateness", m.Lateness, p.Rate > 0}); err != nil {
		return err
	}
	within := func(what string, n, of int64, each [2]int64) error {
		if n < of*each[0] || n > of*each[1] {
			return fmt.Errorf("the client counts %d %s, want %d to %d", n, what, of*each[0], of*each[1])
		}
		return nil
	}
	if err := errors.Join(within("messages", m.Messages, turns, a.messages), within("operations", m.Ops, m.Messages, a.items),
		within("messages sent", m.Sent-m.Messages, 1, [2]int64{0, a.ahead}),
		within("bytes of payload", m.PayloadBytes, m.Ops, [2]int64{a.payload, a.payload})); err != nil {
		return firstOf(err)
	}
	if turns > 0 && m.Messages%turns != 0 {
		return fmt.Errorf("the client counts %d messages in %d turns of its loop", m.Messages, turns)
	}
	// What is measured one after the other, in the window, is not longer than the window.
	inTurn := m.Latency
	if p.Rate > 0 {
		inTurn = m.Service
		if sum(m.Latency) < sum(m.Service)*(1-rounding) {
			return errors.New("the client's response times are shorter than its service times")
		}
	}
	if sum(inTurn) > float64(m.WindowNs)*float64(1+a.ahead)*(1+rounding) {
		return fmt.Errorf("the client's latencies add up to %.0f ns in a window of %d ns", sum(inTurn), m.WindowNs)
	}
	if err := longest(m.WindowNs, m.Latency, m.Service); err != nil {
		return fmt.Errorf("the client: %w", err)
	}
	return nil
}

// rounding is what sums by floating point may be off.
const rounding = 1e-6

func sum(h *hist.Hist) float64 {
	if h.Count() == 0 {
		return 0
	}
	mean, _ := h.Mean()
	return mean * float64(h.Count())
}

func firstOf(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()[0]
	}
	return err
}

// words says where the loop and the kind of latency are not those of the cell: rows are grouped by them.
func words(m *results.Measurement, loop, kind string) error {
	if m.Loop != loop {
		return fmt.Errorf("ran the loop %q, want %q", m.Loop, loop)
	}
	if m.LatencyKind != kind {
		return fmt.Errorf("measured the latency %q, want %q", m.LatencyKind, kind)
	}
	return nil
}

// turnsOf is how many turns of the driver's loop the thirds hold. There are no more than were due, and of a window of a count
// exactly so many.
func turnsOf(p Params, m *results.Measurement) (turns int64, err error) {
	if len(m.Thirds) != 3 || len(m.ThirdsNs) != 0 && len(m.ThirdsNs) != 3 {
		return 0, fmt.Errorf("thirds and thirds_ns have %d and %d values, want 3, or none for the latter", len(m.Thirds), len(m.ThirdsNs))
	}
	var took int64
	for i, n := range m.Thirds {
		if n < 0 || n > math.MaxInt64/4 {
			return 0, fmt.Errorf("%d operations in third %d of the window", n, i+1)
		}
		turns += n
	}
	for i, n := range m.ThirdsNs {
		if n < 0 || n > m.WindowNs {
			return 0, fmt.Errorf("third %d of a window of %d ns took %d ns", i+1, m.WindowNs, n)
		}
		took += n
	}
	if took > m.WindowNs {
		return 0, fmt.Errorf("the thirds took %d ns of a window of %d ns", took, m.WindowNs)
	}
	if p.Count > 0 && turns != p.Count {
		return 0, fmt.Errorf("%d operations in the three thirds of the window, want %d", turns, p.Count)
	}
	if p.Rate > 0 && turns > messagesDue(p) {
		return 0, fmt.Errorf("%d operations in the three thirds of the window, of which %d were due", turns, messagesDue(p))
	}
	return turns, nil
}

// timed is a histogram that has a value for each of something, or is not there.
type timed struct {
	what string
	h    *hist.Hist
	want bool
}

// counted says which of the histograms does not hold n values.
func counted(n int64, of string, all ...timed) error {
	for _, t := range all {
		want := n
		if !t.want {
			want = 0
		}
		if got := t.h.Count(); got != want {
			return fmt.Errorf("%d %s of %d %s", got, t.what, n, of)
		}
	}
	return nil
}

// longest says which latency is longer than the window that began before it did, and ended after it.
func longest(window int64, hs ...*hist.Hist) error {
	for _, h := range hs {
		if h.Count() == 0 {
			continue
		}
		if v, _ := h.Max(); v > window {
			return fmt.Errorf("a latency of %d ns in a window of %d ns", v, window)
		}
	}
	return nil
}

// steps says where a series does not add up.
func steps(what string, v []int64, want, window int64) error {
	var n int64
	for _, x := range v {
		if x < 0 || x > math.MaxInt64/int64(len(v)) {
			return fmt.Errorf("%d messages %s in a step", x, what)
		}
		n += x
	}
	if n != want {
		return fmt.Errorf("the steps of the window hold %d messages %s of %d", n, what, want)
	}
	if most := window/seriesStep + 1; int64(len(v)) > most {
		return fmt.Errorf("%d steps of a window of %d", len(v), most)
	}
	return nil
}
