package bench

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"msgbench/machine"
	"msgbench/measure"
	"msgbench/pinning"
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
// now and then: so other processes have what is left of the time when idle time, steal and what the sample's own processes
// used are taken off, those to the nanosecond. Where the kernel keeps the time of interrupts apart from that of the process
// that they interrupt, they are taken off too, since most of them are the transport's own.
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

// counters are what the kernel counts for a role, of all its processes and threads.
type counters struct{ switches, migrations, minor, major int64 }

// readCounters adds up the counters of a process. What the system does not tell is left out: migrations need a kernel with
// scheduler debugging.
func (c *counters) read(pid int) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	if text, err := os.ReadFile(dir + "stat"); err == nil {
		// The name of the program, in brackets, may hold anything.
		if f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])); len(f) > 9 {
			c.minor += number(f[7])
			c.major += number(f[9])
		}
	}
	threads, err := os.ReadDir(dir + "task")
	if err != nil {
		return
	}
	for _, t := range threads {
		task := dir + "task/" + t.Name() + "/"
		c.switches += field(task+"status", "nonvoluntary_ctxt_switches")
		c.migrations += field(task+"sched", "se.nr_migrations")
	}
}

// field is the number of a line "name : number"; 0 where there is none.
func field(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return number(strings.TrimSpace(v))
		}
	}
	return 0
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // 0 for what is none
	return n
}

// watched is a process of the sample on this host.
type watched struct {
	role    string
	pid     int
	allowed []int // CPUs
}

// witness sees what else happens around the window of a sample.
type witness struct {
	t      pinning.Topology
	of     []watched
	clocks []measure.CPUClock
	own    []int
	begin  usage
	ok     bool
	before map[string]counters
}

// witness takes the first reading.
func (e *execution) witness() *witness {
	var of []watched
	for _, p := range e.processes {
		if p.pid() != 0 { // of another host nothing is seen
			of = append(of, watched{p.role, p.pid(), e.sample.Placement[p.name].Allowed})
		}
	}
	return newWitness(e.w.topology, of)
}

// newWitness takes the first reading, the cheap part of it last.
func newWitness(t pinning.Topology, of []watched) *witness {
	w := &witness{t: t, of: of, ok: true}
	for _, p := range of {
		c, err := measure.ProcessCPU(p.pid)
		w.ok = w.ok && err == nil
		w.clocks = append(w.clocks, c)
		w.own = append(w.own, p.allowed...)
	}
	slices.Sort(w.own)
	w.own = slices.Compact(w.own)
	w.before = w.counters()
	if w.ok {
		w.begin, w.ok = readUsage(w.clocks)
	}
	return w
}

func (w *witness) counters() map[string]counters {
	m := map[string]counters{}
	for _, p := range w.of {
		c := m[p.role]
		c.read(p.pid)
		m[p.role] = c
	}
	return m
}

// end takes the second reading, the one that counts first, and says what lies between.
func (w *witness) end() *results.Interference {
	if !w.ok {
		return nil
	}
	now, ok := readUsage(w.clocks)
	if !ok {
		return nil
	}
	var siblings []int
	for _, id := range w.own {
		if c, ok := w.t.CPU(id); ok {
			siblings = append(siblings, c.Siblings...)
		}
	}
	i := between(w.begin, now, w.own, siblings)
	if i == nil {
		return nil
	}
	i.Switches, i.Migrations = map[string]int64{}, map[string]int64{}
	i.Minor, i.Major = map[string]int64{}, map[string]int64{}
	for role, c := range w.counters() {
		b := w.before[role]
		// A thread that has ended takes its count with it.
		i.Switches[role], i.Migrations[role] = max(c.switches-b.switches, 0), max(c.migrations-b.migrations, 0)
		i.Minor[role], i.Major[role] = c.minor-b.minor, c.major-b.major
	}
	for _, id := range i.CPUs {
		text, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", id))
		if err != nil {
			i.KHz = nil
			break
		}
		i.KHz = append(i.KHz, number(strings.TrimSpace(string(text))))
	}
	return i
}
