package machine

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"msgbench/measure"
)

// batch is how many round trips one reading of the clock covers.
const batch = 100

// MeasureCores measures the round trip of a cache line between each two of the CPUs, of 16 of them at most. ctx cuts it short.
func MeasureCores(ctx context.Context, cpus []int) *CoreMap {
	m := &CoreMap{CPUs: sampled(cpus, maxMapped), Of: len(cpus)}
	n := len(m.CPUs)
	m.Ns = make([][]float64, n)
	for i := range m.Ns {
		m.Ns[i] = make([]float64, n)
	}
	pairs := n * (n - 1) / 2
	if pairs == 0 {
		return m
	}
	each := min(MapTime/time.Duration(pairs), 200*time.Millisecond)
	for i := range n {
		for j := range i {
			if ctx.Err() != nil {
				return m
			}
			ns := bounce(m.CPUs[j], m.CPUs[i], each)
			m.Ns[i][j], m.Ns[j][i] = ns, ns
		}
	}
	return m
}

// line is a value alone in its cache line, and in the next one, which some CPUs fetch along with it.
type line struct {
	_ [128]byte
	v atomic.Int64
	_ [120]byte
}

// bounce is the shortest mean round trip of a batch in ns within that time; 0 where no batch was whole.
func bounce(a, b int, within time.Duration) float64 {
	var ball line
	deadline := measure.Now() + int64(within)
	best := make(chan float64, 1)
	go func() {
		runtime.LockOSThread() // not unlocked: the thread ends with its odd mask
		var fastest float64
		if pinThread(a) {
			fastest = serve(&ball.v, deadline)
		}
		ball.v.Store(-1)
		best <- fastest
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if !pinThread(b) {
			ball.v.Store(-1)
			return
		}
		for turn := int64(1); ; turn += 2 {
			if !await(&ball.v, turn, deadline) || !ball.v.CompareAndSwap(turn, turn+1) {
				return
			}
		}
	}()
	fastest := <-best
	<-done
	return fastest
}

// serve plays until the deadline and returns the mean round trip of the fastest batch.
func serve(v *atomic.Int64, deadline int64) (fastest float64) {
	turn := int64(0)
	for {
		begun := measure.Now()
		if begun >= deadline {
			return fastest
		}
		for range batch {
			if !v.CompareAndSwap(turn, turn+1) || !await(v, turn+2, deadline) {
				return fastest
			}
			turn += 2
		}
		if ns := float64(measure.Now()-begun) / batch; fastest == 0 || ns < fastest {
			fastest = ns
		}
	}
}

// await spins until the value is there; false at the deadline, or when the other side has given up.
func await(v *atomic.Int64, want, deadline int64) bool {
	for n := 1; ; n++ {
		switch v.Load() {
		case want:
			return true
		case -1:
			return false
		}
		if n%256 == 0 && measure.Now() >= deadline {
			return false
		}
	}
}

// pinThread binds the calling thread to a CPU.
func pinThread(cpu int) bool {
	set := unix.NewCPUSet(max(cpu+1, 1024))
	set.Set(cpu)
	return unix.SchedSetaffinityDynamic(0, set) == nil
}
