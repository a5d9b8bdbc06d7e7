package witness

import (
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"msgbench/machine"
	"msgbench/results"
)

func TestBetween(t *testing.T) {
	ticks := func(busy, idle, steal int64) machine.Ticks {
		return machine.Ticks{Busy: busy, Idle: idle, Steal: steal}
	}
	irq := func(t machine.Ticks, hard, soft int64) machine.Ticks { t.HardIRQ, t.SoftIRQ = hard, soft; return t }
	for _, c := range []struct {
		name           string
		before, after  map[int]machine.Ticks
		span, cpu      int64 // ns
		own, siblings  []int
		steal, foreign int64
		share, step    int64
		cpus           []int
	}{
		{
			name:   "the sample alone",
			before: map[int]machine.Ticks{0: ticks(100, 100, 0), 1: ticks(7, 7, 0)}, after: map[int]machine.Ticks{0: ticks(160, 140, 0), 1: ticks(57, 57, 0)},
			span: 1e9, cpu: 11e8, own: []int{0, 1}, foreign: 0, share: 2e9, step: 4e7, cpus: []int{0, 1},
		},
		{
			name:   "another process and steal",
			before: map[int]machine.Ticks{0: ticks(0, 0, 0)}, after: map[int]machine.Ticks{0: ticks(70, 10, 20)},
			span: 1e9, cpu: 5e8, own: []int{0}, steal: 2e8, foreign: 2e8, share: 1e9, step: 2e7, cpus: []int{0},
		},
		{
			name:   "on CPUs of nobody's concern",
			before: map[int]machine.Ticks{0: ticks(0, 0, 0), 1: ticks(0, 0, 0)}, after: map[int]machine.Ticks{0: ticks(0, 100, 0), 1: ticks(100, 0, 0)},
			span: 1e9, own: []int{0}, share: 1e9, step: 2e7, cpus: []int{0},
		},
		{
			name:   "on the other thread of a core",
			before: map[int]machine.Ticks{0: ticks(0, 0, 0), 4: ticks(0, 0, 0)}, after: map[int]machine.Ticks{0: ticks(0, 100, 0), 4: ticks(100, 0, 0)},
			span: 1e9, own: []int{0}, siblings: []int{0, 4}, foreign: 1e9, share: 1e9, step: 4e7, cpus: []int{0, 4},
		},
		{
			name:   "a kernel that keeps interrupts apart",
			before: map[int]machine.Ticks{0: ticks(0, 0, 0)}, after: map[int]machine.Ticks{0: irq(ticks(80, 20, 0), 10, 20)},
			span: 1e9, cpu: 4e8, own: []int{0}, foreign: 1e8, share: 1e9, step: 2e7, cpus: []int{0},
		},
		{
			name:   "one that has them in the processes' time",
			before: map[int]machine.Ticks{0: ticks(0, 0, 0)}, after: map[int]machine.Ticks{0: irq(ticks(80, 20, 0), 0, 30)},
			span: 1e9, cpu: 7e8, own: []int{0}, foreign: 1e8, share: 1e9, step: 2e7, cpus: []int{0},
		},
		{
			name:   "counters that run backwards, and CPU time that is more than there was",
			before: map[int]machine.Ticks{0: ticks(0, 5, 5)}, after: map[int]machine.Ticks{0: ticks(100, 4, 4)},
			span: 1e9, cpu: 2e9, own: []int{0}, share: 1e9, step: 2e7, cpus: []int{0},
		},
	} {
		got := between(usage{ticks: c.before}, usage{at: c.span, ticks: c.after, cpu: c.cpu}, c.own, c.siblings)
		want := &results.Interference{SpanNs: c.span, CPUs: c.cpus, ShareNs: c.share, StealNs: c.steal, ForeignNs: c.foreign, StepNs: c.step}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
	if got := between(usage{}, usage{at: 1}, []int{0}, nil); got != nil {
		t.Errorf("of a CPU that nobody counts: %+v", got)
	}
}

func TestCounters(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	var before, after counters
	before.read(os.Getpid())
	page := make([]byte, 64<<20)
	for i := 0; i < len(page); i += 4096 {
		page[i] = 1
	}
	after.read(os.Getpid())
	runtime.KeepAlive(page)
	// A huge page is one fault.
	if n := after.minor - before.minor; n < 16 {
		t.Errorf("%d faults for 64 MiB", n)
	}
	if status, err := os.ReadFile("/proc/self/status"); err != nil || !strings.Contains(string(status), "nonvoluntary_ctxt_switches:") {
		t.Errorf("the kernel does not count switches as this reads them: %v", err)
	}
}
