package shm

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"msgbench/transports"
)

// Spin limits. maxSpin is about what a sleep and a wake cost together on an idle virtual CPU: spinning longer than
// that costs more than it can save.
const (
	maxSpin  = 50 * time.Microsecond
	minSpin  = 1 * time.Microsecond
	minProbe = 32   // waits without spinning before a try; doubled by each try that fails
	maxProbe = 4096 // a 50 µs try then costs 12 ns a wait

	firstPolls = 32 // before a receiver gives back and looks at anything else
	chunk      = 32 // polls between two looks at the clock (about 40 ns) and at the state
	yieldAfter = 100 * time.Microsecond
	deadline   = 500 * time.Millisecond // of one futex wait: a belt beside the braces, never needed for a wake
)

// Bits of conn.state.
const (
	stateClosed = 1 << iota // Close was called on this side
	stateGone               // the peer has closed or died
)

var base = time.Now()

func nanotime() time.Duration { return time.Since(base) }

// waiter waits for one word of the segment to change, in one of three ways. One goroutine uses it at a time.
type waiter struct {
	mode   transports.Wait
	sleeps *uint32        // futex word in the segment
	state  *atomic.Uint32 // of the connection
	limit  time.Duration  // how long Hybrid spins now
	unspun int            // waits since the last try, while limit is 0
	probe  int            // waits between two tries, while limit is 0
	naps   atomic.Uint64  // futex waits that were entered, for tests and diagnosis
}

func newWaiter(mode transports.Wait, sleeps *uint32, state *atomic.Uint32) waiter {
	return waiter{mode: mode, sleeps: sleeps, state: state, limit: maxSpin, probe: minProbe}
}

// change returns *addr once it is not old, or old once the state of the connection is not 0.
func (w *waiter) change(addr *uint64, old uint64) uint64 {
	var limit time.Duration
	switch w.mode {
	case transports.Spin:
		return w.spinForever(addr, old)
	case transports.Hybrid:
		limit = w.budget()
	}
	if limit > 0 {
		v, ok := w.spin(addr, old, limit)
		w.learn(limit, ok)
		if ok {
			return v
		}
	}
	return w.sleep(addr, old)
}

// budget is how long to spin this time.
//
// Two processes on one core seldom see a spin succeed: each spin only keeps the peer from running. The limit falls to 0
// within a few waits, and the round trip to that of two context switches. A try with the whole limit now and then finds
// out when the peer has got a core of its own.
//
// Tried and dropped: short tries (4 µs). Two sides on two cores that both have come to sleep stay so, since each try is
// over before the other one has been woken. Taking a short sleep for the sign of a fast peer does not work either: on
// the same core a sleep is as short.
func (w *waiter) budget() time.Duration {
	if w.limit > 0 {
		return w.limit
	}
	if w.unspun++; w.unspun < w.probe {
		return 0
	}
	w.unspun = 0
	return maxSpin
}

// learn takes in how a spin of at most limit ended.
func (w *waiter) learn(limit time.Duration, ok bool) {
	switch {
	case ok && w.limit == 0:
		w.limit, w.probe = maxSpin, minProbe
	case ok:
		w.limit = min(2*limit, maxSpin)
	case w.limit == 0:
		w.probe = min(2*w.probe, maxProbe)
	case limit/2 < minSpin:
		w.limit = 0
	default:
		w.limit = limit / 2
	}
}

// spin polls for at most limit. It is a plain loop, so that the runtime can preempt it for the watcher and for GC.
func (w *waiter) spin(addr *uint64, old uint64, limit time.Duration) (uint64, bool) {
	var end time.Duration
	for {
		if v := poll(addr, old, chunk); v != old {
			return v, true
		}
		if w.state.Load() != 0 {
			return old, true
		}
		now := nanotime()
		if end == 0 {
			end = now + limit
		} else if now >= end {
			return old, false
		}
	}
}

// spinForever polls until the word changes. A peer that may be waiting for this very core gets it after yieldAfter:
// sched_yield does not sleep, but without it a round trip on one core takes two ticks of the scheduler.
func (w *waiter) spinForever(addr *uint64, old uint64) uint64 {
	for {
		if v, ok := w.spin(addr, old, yieldAfter); ok {
			return v
		}
		syscall.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		if v := atomic.LoadUint64(addr); v != old {
			return v
		}
	}
}

// sleep waits in the kernel. The word says 1 before the last look at addr and at the state; whoever changes one of them
// looks at the word afterwards (both sequentially consistent), so one of the two sees the other.
func (w *waiter) sleep(addr *uint64, old uint64) uint64 {
	for {
		atomic.StoreUint32(w.sleeps, 1)
		v := atomic.LoadUint64(addr)
		if v != old || w.state.Load() != 0 {
			atomic.StoreUint32(w.sleeps, 0)
			return v
		}
		w.naps.Add(1)
		// EAGAIN (the word was 0 already), EINTR (a signal of the Go runtime), ETIMEDOUT and spurious wakes all mean the
		// same: look again.
		futexWait(w.sleeps, 1)
	}
}

// wake ends the sleep of the side that waits at word; called when the word was seen to be not 0.
//
//go:noinline
func wake(word *uint32) {
	if atomic.SwapUint32(word, 0) != 0 {
		futexWake(word)
	}
}

// wakeAlways is wake for a sleeper of this process that has to look at the state. A sleeper that is just about to sleep has
// either not yet set the word (then it sees the state afterwards) or finds it to be 0.
func wakeAlways(word *uint32) {
	atomic.StoreUint32(word, 0)
	futexWake(word)
}

// The operations, of <linux/futex.h>; x/sys does not have them.
const (
	opWait = 0
	opWake = 1
)

var napTime = unix.NsecToTimespec(int64(deadline))

// futexWait goes through Syscall6, so that the runtime can hand the P to another goroutine meanwhile. Without
// FUTEX_PRIVATE_FLAG: the waker is another process.
func futexWait(word *uint32, while uint32) {
	t := napTime
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), opWait, uintptr(while), uintptr(unsafe.Pointer(&t)), 0, 0)
}

// futexWake does not block, so it need not tell the scheduler.
func futexWake(word *uint32) {
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), opWake, 1, 0, 0, 0)
}
