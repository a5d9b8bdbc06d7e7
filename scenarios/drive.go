package scenarios

import (
	"fmt"
	"math"
	"os"
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

// loop runs operations and counts them.
type loop struct {
	op                         operation
	pacer                      measure.Pacer
	ops, items                 int64
	next                       int64 // operation of the schedule
	start, end                 int64
	thirds, thirdsNs           [3]int64   // operations, and how long they took
	latency, service, lateness *hist.Hist // the last two when paced
}

func (l *loop) reset() {
	l.ops, l.items, l.next, l.thirds, l.pacer = 0, 0, 0, [3]int64{}, measure.Pacer{}
	l.latency.Reset()
	if l.service != nil {
		l.service.Reset()
		l.lateness.Reset()
	}
}

// warmUp runs the same loop as the window, on one schedule, until it has run long enough, in time and in operations, or
// nothing more is due before its latest end. It records into the same histograms, so that their pages are there; reset
// forgets it.
func (l *loop) warmUp(p Params, m *results.Measurement) error {
	start := measure.Now()
	if err := l.prime(start); err != nil {
		return err
	}
	l.end = start
	last := start + int64(p.WarmupMax)
	step := start
	for {
		// Slices of the warm-up, so that neither loop needs to look at two conditions.
		step += max(int64(p.Warmup)/4, 1e6)
		until := min(step, last)
		var err error
		if p.Rate > 0 {
			err = l.paced(measure.Schedule{Start: start, Rate: int64(p.Rate)}, until, until)
		} else {
			err = l.closed(measure.Now(), until, math.MaxInt64)
		}
		if err != nil {
			return err
		}
		now := measure.Now()
		if until == last || now-start >= int64(p.Warmup) && l.ops >= p.WarmupOps {
			m.WarmupNs, m.WarmupOps = now-start, l.ops
			return l.drain()
		}
	}
}

func (l *loop) prime(now int64) error {
	if p, ok := l.op.(primer); ok {
		return p.prime(now)
	}
	return nil
}

func (l *loop) drain() error {
	if p, ok := l.op.(primer); ok {
		return p.drain()
	}
	return nil
}

// window runs the operations that count. It is three thirds long, so that a ramp shows.
func (l *loop) window(p Params) error {
	if p.Rate > 0 {
		return l.pacedWindow(p)
	}
	l.begin()
	if err := l.prime(l.start); err != nil {
		return err
	}
	for i := range l.thirds {
		before := l.ops
		until, most := l.start+int64(p.Window)*int64(i+1)/3, int64(math.MaxInt64)
		if p.Count > 0 {
			until, most = math.MaxInt64, p.Count*int64(i+1)/3
		}
		began := l.end
		if err := l.closed(l.end, until, most); err != nil {
			return err
		}
		l.thirds[i], l.thirdsNs[i] = l.ops-before, l.end-began
	}
	if o, ok := l.op.(settler); ok {
		if err := o.settle(); err != nil {
			return err
		}
		l.end = measure.Now()
	}
	return nil
}

// begin sets the start of the window: now, or the time that others were told.
func (l *loop) begin() {
	l.start = measure.Now()
	l.end = l.start
	if o, ok := l.op.(scheduled); ok {
		l.start = o.start()
		l.end = l.pacer.Wait(l.start) // the first stamp is of the time that it is, if we wake too late
	}
}

func (l *loop) pacedWindow(p Params) error {
	// A whole number of intervals, at least one: the window ends when the operation after the last would be due.
	n := messagesDue(p)
	l.begin()
	schedule := measure.Schedule{Start: l.start, Rate: int64(p.Rate)}
	for i := range l.thirds {
		before := l.ops
		until := schedule.At(n * int64(i+1) / 3)
		giveUp := until
		if p.Count > 0 {
			giveUp = math.MaxInt64 // all of them, however late
		}
		began := max(l.end, schedule.At(n*int64(i)/3))
		if err := l.paced(schedule, until, giveUp); err != nil {
			return err
		}
		l.thirds[i], l.thirdsNs[i] = l.ops-before, max(l.end, until)-began
	}
	l.end = max(l.end, l.pacer.Wait(schedule.At(n)))
	if o, ok := l.op.(settler); ok {
		return o.settle() // who receives knows when that was over
	}
	return nil
}

// closed sends the next operation as soon as the last one is done, until the time is over or that many are done. One reading
// of the clock serves as the end of one and the start of the next, so latencies add up to the window, and what we do between
// two operations is in them.
func (l *loop) closed(t, until, most int64) error {
	for t < until && l.ops < most {
		items, since, err := l.op.do(t)
		if err != nil {
			return err
		}
		now := measure.Now()
		l.latency.Record(now - since)
		l.items += items
		l.ops++
		t = now
	}
	l.end = t
	return nil
}

// paced goes on with the schedule: each operation goes out at its intended time, or at once when that has passed; none is
// skipped. It stops before the first that is due at until, or when it is so late that the time to give up has come.
func (l *loop) paced(schedule measure.Schedule, until, giveUp int64) error {
	done := l.end
	for ; done < giveUp; l.next++ {
		intended := schedule.At(l.next)
		if intended >= until {
			break
		}
		sent := done
		if sent < intended {
			sent = l.pacer.Wait(intended)
		}
		items, _, err := l.op.do(sent)
		if err != nil {
			return err
		}
		due := max(intended, done)
		done = measure.Now()
		l.latency.Record(done - intended)
		l.service.Record(done - sent)
		l.lateness.Record(sent - due)
		l.items += items
		l.ops++
	}
	l.end = done
	return nil
}

func (l *loop) result(m *results.Measurement) {
	m.WindowNs = l.end - l.start
	m.Ops = l.items
	m.Sent, m.Received = l.ops, l.ops
	m.Latency, m.Service, m.Lateness = l.latency, l.service, l.lateness
	m.PacerNs = l.pacer.SpunNs
	m.Thirds, m.ThirdsNs = l.thirds[:], l.thirdsNs[:]
}

// cpuWindow reads the CPU clocks of all roles at both ends of a window, and allocates at neither.
type cpuWindow struct {
	clocks     []RoleClock
	from, till []int64
}

func newCPUWindow(clocks []RoleClock) *cpuWindow {
	return &cpuWindow{clocks, make([]int64, len(clocks)), make([]int64, len(clocks))}
}

func (w *cpuWindow) read(into []int64) (err error) {
	for i, c := range w.clocks {
		if into[i], err = c.Clock.Read(); err != nil {
			return fmt.Errorf("%s: %w", c.Role, err)
		}
	}
	return nil
}

func (w *cpuWindow) begin() error { return w.read(w.from) }
func (w *cpuWindow) end() error   { return w.read(w.till) }

// used is the CPU time of each role in the window in ns. Several processes of one role are added up.
func (w *cpuWindow) used() map[string]int64 {
	if len(w.clocks) == 0 {
		return nil
	}
	m := map[string]int64{}
	for i, c := range w.clocks {
		m[c.Role] += w.till[i] - w.from[i]
	}
	return m
}

// counters are what a process knows of its own window.
type counters struct {
	gc     *measure.GCReader
	before measure.GCStats
}

func newCounters() *counters { return &counters{gc: measure.NewGCReader()} }

func (c *counters) begin() { c.before = c.gc.Read() }

func (c *counters) end(m *results.Measurement, role string) {
	s := c.gc.Read().Since(c.before)
	m.GC = map[string]int64{role: s.Cycles}
	m.Mallocs = map[string]int64{role: s.Mallocs}
	if rss, err := measure.ResidentBytes(os.Getpid()); err == nil {
		m.RSS = map[string]int64{role: rss}
	}
}
