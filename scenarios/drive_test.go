package scenarios

import (
	"errors"
	"testing"
	"time"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/results/hist"
)

// stubOp is an operation that takes some time, and fails at the nth if asked.
type stubOp struct {
	takes  time.Duration
	items  int64
	n      int
	failAt int
	stamps []int64
}

func (o *stubOp) do(now int64) (int64, int64, error) {
	o.n++
	if o.n == o.failAt {
		return 0, 0, errors.New("no more")
	}
	o.stamps = append(o.stamps, now)
	for end := measure.Now() + int64(o.takes); measure.Now() < end; {
	}
	return max(o.items, 1), now, nil
}

func newLoop(op operation, rate int) *loop {
	l := &loop{op: op, latency: hist.New()}
	if rate > 0 {
		l.service, l.lateness = hist.New(), hist.New()
	}
	return l
}

// A warm-up at a low rate keeps the schedule as the window does: it is no burst.
func TestWarmUpKeepsTheSchedule(t *testing.T) {
	const longest = 250 * time.Millisecond
	for _, rate := range []int{2, 10, 100} {
		op := &stubOp{}
		m := &results.Measurement{}
		if err := newLoop(op, rate).warmUp(Params{Rate: rate, Warmup: 40 * time.Millisecond, WarmupOps: 1000, WarmupMax: longest}, m); err != nil {
			t.Fatal(err)
		}
		if due := int(longest.Seconds()*float64(rate)) + 1; op.n > due || op.n == 0 || m.WarmupOps != int64(op.n) {
			t.Errorf("%d operations at %d/s within %s, of which %d are due", op.n, rate, longest, due)
		}
	}
}

// An operation slower than its interval makes the schedule late: none is skipped, response grows, service does not, and
// the lateness is not ours.
func TestPacedLateOperationsAreNotSkipped(t *testing.T) {
	op := &stubOp{takes: 400 * time.Microsecond}
	l := newLoop(op, 5000) // 200 µs
	if err := l.window(Params{Rate: 5000, Window: 40 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	m := &results.Measurement{}
	l.result(m)
	if m.Ops >= 190 {
		t.Errorf("%d operations of 400 µs in 40 ms", m.Ops)
	}
	if m.WindowNs < int64(40*time.Millisecond) {
		t.Errorf("the window is %d ns", m.WindowNs)
	}
	if got := m.Thirds[0] + m.Thirds[1] + m.Thirds[2]; got != m.Ops {
		t.Errorf("thirds add up to %d of %d", got, m.Ops)
	}
	response, _ := m.Latency.Max()
	service, _ := m.Service.Min()
	if response < 10*service {
		t.Errorf("the last response took %d ns, a service %d: the backlog is not in it", response, service)
	}
	// Operation i was intended at i × interval, wherever it really went out.
	for i := 1; i < len(op.stamps); i++ {
		if op.stamps[i] < op.stamps[i-1] {
			t.Fatalf("operation %d went out before the one before it", i)
		}
	}
	if l.next != m.Ops {
		t.Errorf("%d operations done, but the schedule is at %d", m.Ops, l.next)
	}
}

// A paced window that is kept up with has exactly rate × window operations, and none goes out before its time.
func TestPacedKeepsTheSchedule(t *testing.T) {
	op := &stubOp{}
	l := newLoop(op, 1000)
	if err := l.window(Params{Rate: 1000, Window: 30 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if l.ops > 30 {
		t.Errorf("%d operations, want at most 30", l.ops)
	}
	s := measure.Schedule{Start: l.start, Rate: 1000}
	for i, at := range op.stamps {
		if at < s.At(int64(i)) {
			t.Errorf("operation %d went out %d ns too early", i, s.At(int64(i))-at)
		}
	}
	if l.end-l.start < int64(30*time.Millisecond) {
		t.Errorf("the window ended after %d ns", l.end-l.start)
	}
}

// A window of a number of operations has all of them, however late they are.
func TestPacedCountIsExact(t *testing.T) {
	op := &stubOp{takes: 300 * time.Microsecond}
	l := newLoop(op, 10_000)
	if err := l.window(Params{Rate: 10_000, Count: 50, Window: time.Second}); err != nil {
		t.Fatal(err)
	}
	if l.ops != 50 || op.n != 50 {
		t.Errorf("%d operations, want 50", l.ops)
	}
	if got := l.thirds[0] + l.thirds[1] + l.thirds[2]; got != 50 {
		t.Errorf("thirds add up to %d", got)
	}
}

func TestClosedCountsItems(t *testing.T) {
	op := &stubOp{items: 3, takes: 10 * time.Microsecond}
	l := newLoop(op, 0)
	if err := l.window(Params{Window: 5 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	m := &results.Measurement{}
	l.result(m)
	if m.Ops != 3*int64(op.n) || m.Sent != int64(op.n) || m.Latency.Count() != int64(op.n) {
		t.Errorf("%d items, %d messages, %d latencies of %d operations", m.Ops, m.Sent, m.Latency.Count(), op.n)
	}
}

func TestWarmUpLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		p      Params
		takes  time.Duration
		minOps int64
	}{
		{"operations", Params{Warmup: time.Millisecond, WarmupOps: 200, WarmupMax: time.Second}, 10 * time.Microsecond, 200},
		{"at most", Params{Warmup: time.Millisecond, WarmupOps: 1e9, WarmupMax: 20 * time.Millisecond}, 10 * time.Microsecond, 1},
	} {
		op := &stubOp{takes: c.takes}
		l := newLoop(op, 0)
		m := &results.Measurement{}
		if err := l.warmUp(c.p, m); err != nil {
			t.Fatal(err)
		}
		if m.WarmupOps < c.minOps || m.WarmupNs < int64(c.p.Warmup) {
			t.Errorf("%s: %d operations in %d ns", c.name, m.WarmupOps, m.WarmupNs)
		}
		l.reset()
		if l.latency.Count() != 0 || l.ops != 0 {
			t.Errorf("%s: the warm-up is still counted", c.name)
		}
	}
}

func TestErrorsEndTheLoop(t *testing.T) {
	for _, rate := range []int{0, 100_000} {
		l := newLoop(&stubOp{failAt: 5}, rate)
		if err := l.window(Params{Rate: rate, Window: time.Second}); err == nil {
			t.Errorf("rate %d: no error", rate)
		}
	}
}

// What stands between two operations allocates nothing.
func TestLoopDoesNotAllocate(t *testing.T) {
	c, s := pair()
	_ = s
	for _, rate := range []int{0, 1_000_000} {
		l := newLoop(nopOp{}, rate)
		if n := testing.AllocsPerRun(5, func() {
			l.reset()
			if err := l.window(Params{Rate: rate, Window: time.Millisecond}); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("rate %d: %v allocations a window", rate, n)
		}
	}
	_ = c
}

type nopOp struct{}

func (nopOp) do(now int64) (int64, int64, error) { return 1, now, nil }
