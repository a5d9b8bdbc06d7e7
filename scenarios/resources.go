package scenarios

import (
	"fmt"
	"os"

	"msgbench/measure"
	"msgbench/results"
)

// cpuWindow reads the CPU clocks of all roles at both ends of a window, and allocates at neither.
type cpuWindow struct {
	clocks     []RoleClock
	from, till []int64
}

func newCPUWindow(clocks []RoleClock) *cpuWindow {
	return &cpuWindow{clocks, make([]int64, len(clocks)), make([]int64, len(clocks))}
}

func (w *cpuWindow) read(into []int64) (err error) {
	for i, c := range w.clocks {
		if into[i], err = c.Clock.Read(); err != nil {
			return fmt.Errorf("%s: %w", c.Role, err)
		}
	}
	return nil
}

func (w *cpuWindow) begin() error { return w.read(w.from) }
func (w *cpuWindow) end() error   { return w.read(w.till) }

// used is the CPU time of each role in the window in ns. Several processes of one role are added up.
func (w *cpuWindow) used() map[string]int64 {
	if len(w.clocks) == 0 {
		return nil
	}
	m := map[string]int64{}
	for i, c := range w.clocks {
		m[c.Role] += w.till[i] - w.from[i]
	}
	return m
}

// counters are what a process knows of its own window.
type counters struct {
	gc     *measure.GCReader
	before measure.GCStats
}

func newCounters() *counters { return &counters{gc: measure.NewGCReader()} }

func (c *counters) begin() { c.before = c.gc.Read() }

func (c *counters) end(m *results.Measurement, role string) {
	s := c.gc.Read().Since(c.before)
	m.GC = map[string]int64{role: s.Cycles}
	m.Mallocs = map[string]int64{role: s.Mallocs}
	if rss, err := measure.ResidentBytes(os.Getpid()); err == nil {
		m.RSS = map[string]int64{role: rss}
	}
}
