package broker

import (
	"sync/atomic"

	"msgbench/measure"
)

// MeterStep is the length of the steps in which a router counts messages by time, in ns: they begin at whole multiples of it
// on the monotonic clock.
const MeterStep = 10_000_000

// The counts lie in pages, which are made as time goes on: one allocation in 41 s, and room for 11 hours.
const (
	pageSteps  = 4096
	meterPages = 1024
)

// meter counts messages by when they were forwarded.
type meter struct {
	first int64 // number of the first step
	pages [meterPages]atomic.Pointer[[pageSteps]atomic.Int64]
}

func newMeter() *meter { return &meter{first: measure.Now() / MeterStep} }

// add counts n messages at the time t. What is later than the last page is left out: sum says so.
func (m *meter) add(t, n int64) {
	i := t/MeterStep - m.first
	if i < 0 || i >= meterPages*pageSteps {
		return
	}
	p := &m.pages[i/pageSteps]
	if p.Load() == nil {
		p.CompareAndSwap(nil, new([pageSteps]atomic.Int64))
	}
	p.Load()[i%pageSteps].Add(n)
}

// sum is how many messages were counted from the time a until before b, both multiples of MeterStep; ok is false where there
// are no counts of some of that time.
func (m *meter) sum(a, b int64) (n int64, ok bool) {
	from, to := a/MeterStep-m.first, b/MeterStep-m.first
	if from < 0 || to > meterPages*pageSteps || a%MeterStep != 0 || b%MeterStep != 0 {
		return 0, false
	}
	for i := from; i < to; i++ {
		if p := m.pages[i/pageSteps].Load(); p != nil {
			n += p[i%pageSteps].Load()
		}
	}
	return n, true
}

// Series is how many messages from connections that provide no service were forwarded in each of so many steps from start
// on, the last one and all after it in one; times in ns of the monotonic clock, multiples of MeterStep. It is nil if the router
// has not counted them all: without Options.Meter, or before it began.
func (r *Router) Series(start, step int64, steps int) []int64 {
	if r.meter == nil || steps < 1 || step <= 0 {
		return nil
	}
	v := make([]int64, steps)
	for i := range v {
		a := start + int64(i)*step
		b := a + step
		if i == steps-1 {
			b = max(b, (measure.Now()/MeterStep+1)*MeterStep)
		}
		var ok bool
		if v[i], ok = r.meter.sum(a, b); !ok {
			return nil
		}
	}
	return v
}
