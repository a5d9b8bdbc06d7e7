package scenarios

import (
	"fmt"
	"runtime"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/results/hist"
)

// operation is one client's unit of work.
type operation interface {
	// do performs one operation, whose first message is stamped with now. It returns how many it counts for, and since
	// when its latency counts: from now, unless what it received was sent earlier.
	do(now int64) (items, since int64, err error)
}

// primer is an operation that keeps requests in flight between its own.
type primer interface {
	prime(now int64) error
	drain() error
}

// beginner is an operation with counts of its own, which begin with the window.
type beginner interface{ begin() }

// controller tells the other side where the window begins and ends.
type controller interface {
	mark() error
	finish() error
}

// scheduled is an operation whose window begins at a time that others were told.
type scheduled interface{ start() int64 }

// settler is an operation that is not over before everyone has what was sent; that belongs to the window.
type settler interface{ settle() error }

// drive warms up, runs op through one window in the loop that the rate asks for, and returns what it measured.
func drive(s *Side, ctl controller, op operation) (*results.Measurement, error) {
	l := &loop{op: op, latency: hist.New()}
	if s.Params.Rate > 0 {
		l.service, l.lateness = hist.New(), hist.New()
		measure.PreciseTimers()
	}
	m := &results.Measurement{Loop: results.Closed, LatencyKind: results.RTT, Hops: 1}
	if err := l.warmUp(s.Params, m); err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	// The collection belongs before the window, on both sides, and so does everything that the window's end needs.
	cpu := newCPUWindow(s.Clocks)
	counters := newCounters()
	s.Measuring()
	runtime.GC()
	if err := ctl.mark(); err != nil {
		return nil, err
	}
	l.reset()
	if b, ok := op.(beginner); ok {
		b.begin()
	}
	counters.begin()
	if err := cpu.begin(); err != nil {
		return nil, err
	}
	err := l.window(s.Params)
	cpuErr := cpu.end()
	if err != nil {
		return nil, err
	}
	if err := l.drain(); err != nil {
		return nil, err
	}
	counters.end(m, s.Role)
	if err := ctl.finish(); err != nil {
		return nil, err
	}
	s.Done()
	if cpuErr != nil {
		return nil, cpuErr
	}
	m.CPUNs = cpu.used()
	l.result(m)
	if s.Params.Rate > 0 {
		m.Loop = results.Paced
	}
	return m, nil
}

// latencyKind is what the main latency columns of a request-reply scenario hold at this rate.
func latencyKind(p Params) string {
	if p.Rate > 0 {
		return results.Response
	}
	return results.RTT
}
