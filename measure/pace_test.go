package measure

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestSchedule(t *testing.T) {
	for _, c := range []struct{ rate, i, want int64 }{
		{1, 0, 0},
		{1, 5, 5e9},
		{1000, 1, 1e6},
		{10_000, 25_000, 25e8},
		{3, 1, 333_333_333},
		{3, 2, 666_666_666},
		{3, 3, 1e9},
		{3, 3_000_001, 1_000_000*1e9 + 333_333_333}, // no drift after a million seconds
		{7, 6, 857_142_857},
		{7, 7 * 86_400, 86_400 * 1e9},
		{7, 7*86_400 + 1, 86_400*1e9 + 142_857_142},
		{999_999_937, 999_999_937 * 3, 3e9},
		{999_999_937, 1, 1},
		{2_000_000_000, 3, 1},                             // faster than the clock ticks
		{100_000, 20_000_000_000, 200_000 * 1e9},          // i × 10⁹ does not fit in 64 bits
		{1_000_000, 9_000_000_000_000_001, 9e18 + 1*1000}, // nor near the end of the range
	} {
		t.Run(fmt.Sprintf("%d of %d", c.i, c.rate), func(t *testing.T) {
			const start = 1_000_000_007
			if got := (Schedule{Start: start, Rate: c.rate}).At(c.i) - start; got != c.want {
				t.Errorf("due %d ns after the start, want %d", got, c.want)
			}
		})
	}
}

func TestScheduleSteps(t *testing.T) {
	for _, rate := range []int64{3, 7, 997, 10_000, 333_333} {
		s := Schedule{Start: 0, Rate: rate}
		for i := range 3 * rate {
			step := s.At(i+1) - s.At(i)
			if step != s.Interval() && step != s.Interval()+1 {
				t.Fatalf("rate %d: step %d is %d ns, want %d or one more", rate, i, step, s.Interval())
			}
		}
	}
}

// deadlines are ahead by less and by more than the pacer's lead.
var deadlines = []time.Duration{0, time.Microsecond, 40 * time.Microsecond, 200 * time.Microsecond, 3 * time.Millisecond}

func testWait(t *testing.T) {
	var p Pacer
	start := Now()
	for range 5 {
		for _, ahead := range deadlines {
			deadline := Now() + int64(ahead)
			now := p.Wait(deadline)
			if now < deadline {
				t.Errorf("%v ahead: back %d ns early", ahead, deadline-now)
			}
			if late := Now() - now; late < 0 {
				t.Errorf("told a time %d ns in the future", -late)
			}
		}
	}
	if total := Now() - start; p.SpunNs <= 0 || p.SpunNs > total {
		t.Errorf("spun %d ns of %d", p.SpunNs, total)
	}
}

func TestWaitUnlocked(t *testing.T) { testWait(t) }

func TestWaitLocked(t *testing.T) {
	runtime.LockOSThread() // and never unlocked: the thread, whose slack has changed, ends with the goroutine
	if err := PreciseTimers(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		if slack, err := TimerSlack(); err != nil || slack != 1 {
			t.Errorf("timer slack %d, %v; want 1", slack, err)
		}
	}
	testWait(t)
}

func TestWaitPassed(t *testing.T) {
	var p Pacer
	before := Now()
	for _, deadline := range []int64{before, before - 1, before - int64(time.Hour), 0, -1} {
		if now := p.Wait(deadline); now < before {
			t.Errorf("deadline %d: told %d, before the call at %d", deadline, now, before)
		}
	}
	if p.SpunNs != 0 {
		t.Errorf("spun %d ns for deadlines that had passed", p.SpunNs)
	}
}

func TestWaitAllocates(t *testing.T) {
	var p Pacer
	if n := testing.AllocsPerRun(50, func() { p.Wait(Now() + 2*Lead) }); n != 0 {
		t.Errorf("%v allocations a wait", n)
	}
}

// A pacer never returns early, whatever it may do while it waits.
func TestPacersNeverReturnEarly(t *testing.T) {
	for _, p := range []Pacer{{}, {Yield: true}, {Crowd: &Crowd{}}, {Yield: true, Crowd: &Crowd{}}} {
		for _, d := range []int64{-1000, 10_000, 100_000, 2_000_000} {
			deadline := Now() + d
			if now := p.Wait(deadline); now < deadline {
				t.Errorf("%+v: %d ns too early", p, deadline-now)
			}
		}
	}
}

// Pacers that take turns do not count each other's time.
func TestCrowdCountsOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var crowd Crowd
	pacers := make([]Pacer, 8)
	var done sync.WaitGroup
	begun := Now()
	for i := range pacers {
		pacers[i] = Pacer{Yield: true, Crowd: &crowd}
		done.Go(func() { pacers[i].Wait(begun + 20_000_000) })
	}
	done.Wait()
	var spun int64
	for _, p := range pacers {
		spun += p.SpunNs
	}
	if took := Now() - begun; spun > took {
		t.Errorf("%d ns spun in %d ns", spun, took)
	}
}
