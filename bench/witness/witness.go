// Package witness sees what else happens on a machine while a sample is measured: what its hypervisor and its other processes
// take of the sample's CPUs.
package witness

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"msgbench/measure"
	"msgbench/pinning"
	"msgbench/results"
)

// Process is one of the sample, on this host.
type Process struct {
	Role    string
	PID     int
	Allowed []int // CPUs
}

// Witness sees what else happens around the window of a sample.
type Witness struct {
	t      pinning.Topology
	of     []Process
	clocks []measure.CPUClock
	own    []int
	pids   []int
	others processes // nil: not known
	begin  usage
	ok     bool
	before map[string]counters
}

// New takes the first reading, the cheap part of it last.
func New(t pinning.Topology, of []Process) *Witness {
	w := &Witness{t: t, of: of, ok: true}
	for _, p := range of {
		c, err := measure.ProcessCPU(p.PID)
		w.ok = w.ok && err == nil
		w.clocks = append(w.clocks, c)
		w.own = append(w.own, p.Allowed...)
		w.pids = append(w.pids, p.PID)
	}
	slices.Sort(w.own)
	w.own = slices.Compact(w.own)
	w.before = w.counters()
	w.others = readProcesses(w.pids)
	if w.ok {
		w.begin, w.ok = readUsage(w.clocks)
	}
	return w
}

func (w *Witness) counters() map[string]counters {
	m := map[string]counters{}
	for _, p := range w.of {
		c := m[p.Role]
		c.read(p.PID)
		m[p.Role] = c
	}
	return m
}

// End takes the second reading, the one that counts first, and says what lies between; nil
// where the system does not tell.
func (w *Witness) End() *results.Interference {
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
	if w.others != nil {
		if after := readProcesses(w.pids); after != nil {
			i.ForeignNs = min(i.ForeignNs, after.since(w.others))
		}
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
