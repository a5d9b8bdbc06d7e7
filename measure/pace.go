package measure

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Lead is how long before a deadline, in ns, the pacer stops sleeping and begins to spin. A thread with a timer slack of
// 1 ns wakes within it nearly always, and so does one with the usual slack of 50 µs.
const Lead = int64(60 * time.Microsecond)

// maxStep is the longest time between two readings of the clock, in ns, that still counts as spinning. A longer one means
// that the thread did not run: it was preempted, and what ran then is not the pacer's.
const maxStep = int64(5 * time.Microsecond)

// Schedule is the intended times of operations at a constant rate. It does not drift: operation i is due i/rate seconds
// after the start, whatever the rate is.
type Schedule struct {
	Start int64 // when operation 0 is due, in ns of Now
	Rate  int64 // operations per second, at least 1
}

// At is when operation i (from 0) is due, in ns of Now, rounded down.
func (s Schedule) At(i int64) int64 {
	// Whole seconds and the rest apart: i × 10⁹ would overflow after 9.2 × 10⁹ operations.
	return s.Start + i/s.Rate*int64(time.Second) + i%s.Rate*int64(time.Second)/s.Rate
}

// Interval is the time between two operations in ns, rounded down.
func (s Schedule) Interval() int64 { return int64(time.Second) / s.Rate }

// Pacer waits for points in time more exactly than a sleep does: it sleeps until shortly before, then spins. The zero
// value is ready. It is for one goroutine; lock that to its thread and call PreciseTimers for the least lateness.
type Pacer struct {
	// SpunNs is how long the pacer has spun, in ns. It is part of the CPU time of this process, and not the transport's.
	// Time in which the thread was preempted is left out; what the sleeps themselves cost (1 to 3 µs each) is not in it.
	SpunNs int64
	// Yield lets other goroutines run while the pacer waits. What a library's own goroutines are to write would else lie there
	// until the pacer is done, if they share a processor with it. Not for goroutines locked to a thread: each yield would
	// be two changes of threads.
	Yield bool
	// Crowd is set where several pacers share a CPU, so that none may spin while another one is due, nor keep its processor in
	// a sleep.
	Crowd *Crowd
}

// Crowd is what pacers that share a CPU know of each other.
type Crowd struct{ spinning atomic.Int64 }

// sleepLead is how long before a deadline, in ns, a sleep of the runtime's ends surely enough: it may last about 1 ms longer.
const sleepLead = int64(1200 * time.Microsecond)

// Wait returns when Now has reached the deadline (ns of Now), at once if it has passed, and tells the time then. It does not
// allocate.
func (p *Pacer) Wait(deadline int64) (now int64) {
	if p.Crowd != nil {
		return p.waitInCrowd(deadline)
	}
	now = Now()
	for deadline-now > Lead {
		if p.Yield {
			runtime.Gosched() // a sleeping thread keeps its processor for a while
		}
		sleepUntil(deadline - Lead)
		now = Now()
	}
	for now < deadline {
		if p.Yield {
			runtime.Gosched()
		}
		t := Now()
		if d := t - now; d <= maxStep {
			p.SpunNs += d
		}
		now = t
	}
	return now
}

// waitInCrowd is Wait beside other pacers. Locked threads only sleep, which makes them some 10 µs late. Goroutines take turns, and
// of each turn they count their part as spun.
func (p *Pacer) waitInCrowd(deadline int64) (now int64) {
	now = Now()
	if !p.Yield {
		for now < deadline {
			sleepUntil(deadline)
			now = Now()
		}
		return now
	}
	if d := deadline - now - sleepLead; d > 0 {
		time.Sleep(time.Duration(d))
		now = Now()
	}
	if now >= deadline {
		return now
	}
	p.Crowd.spinning.Add(1)
	for now < deadline {
		runtime.Gosched()
		t := Now()
		if n := p.Crowd.spinning.Load(); t-now <= n*maxStep {
			p.SpunNs += (t - now) / n
		}
		now = t
	}
	p.Crowd.spinning.Add(-1)
	return now
}
