package witness

import (
	"os"
	"slices"
	"time"

	"msgbench/machine"
	"msgbench/measure"
	"msgbench/results"
)

// tick is the step of the kernel's counters of what CPUs do.
const tick = 10 * time.Millisecond

// usage is what the machine and the processes of a sample have done until now.
type usage struct {
	at    int64 // ns of the clock
	ticks map[int]machine.Ticks
	cpu   int64 // ns that all processes of the sample have used
}

// readUsage asks for nothing that takes longer than some 0.1 ms: two readings enclose warm-up and window, in which the runner
// sleeps. It is not ok where the system does not tell, or a process has ended, which shows elsewhere.
func readUsage(clocks []measure.CPUClock) (u usage, ok bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return u, false
	}
	u.at = measure.Now()
	for _, c := range clocks {
		ns, err := c.Read()
		if err != nil {
			return u, false
		}
		u.cpu += ns
	}
	u.ticks = machine.ParseStat(string(text))
	return u, true
}

// between is what happened between two readings on the CPUs that the processes of a sample may run on (own), and on the other
// threads of their cores (siblings); nil where the readings don't tell.
//
// The kernel counts in ticks. How long a CPU was idle it knows better than what it did in the rest, which it only looks at
// now and then: so other processes have at most what is left of the time when idle time, steal and what the sample's own processes
// used are taken off, those to the nanosecond. Where the kernel keeps the time of interrupts apart from that of the process
// that they interrupt, they are taken off too, since most of them are the transport's own. What is left holds besides what a CPU
// takes to leave its idle state before a process runs: some 10 µs on a virtual machine, for each wake.
func between(before, after usage, own, siblings []int) *results.Interference {
	span := after.at - before.at
	cpus := slices.Compact(slices.Sorted(slices.Values(slices.Concat(own, siblings))))
	if span <= 0 || len(own) == 0 {
		return nil
	}
	apart := false
	for _, t := range after.ticks {
		apart = apart || t.HardIRQ > 0
	}
	var busy, steal int64
	for _, id := range cpus {
		a, okA := after.ticks[id]
		b, okB := before.ticks[id]
		if !okA || !okB {
			return nil // it went offline
		}
		d := a.Since(b)
		left := max(d.Idle, 0) // may run backwards by a tick
		if apart {
			left += d.HardIRQ + d.SoftIRQ
		}
		steal += max(d.Steal, 0) * int64(tick)
		busy += max(span-left*int64(tick), 0)
	}
	return &results.Interference{
		SpanNs: span, CPUs: cpus, ShareNs: span * int64(len(own)),
		StealNs:   steal,
		ForeignNs: max(busy-steal-(after.cpu-before.cpu), 0),
		StepNs:    2 * int64(tick) * int64(len(cpus)),
	}
}
