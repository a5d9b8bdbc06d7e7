package scenarios

import (
	"math"

	"msgbench/measure"
	"msgbench/results"
	"msgbench/results/hist"
)

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
