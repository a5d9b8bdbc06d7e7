package results

import (
	"errors"
	"fmt"
)

// Interference is what happened on the CPUs of a sample besides the sample, from just before its start to just after its
// window: warm-up and window together. It holds nothing of what was measured, so that what is decided by it can't look at the
// result.
type Interference struct {
	SpanNs int64 `json:"span_ns"`
	// CPUs are those that the sample's processes may run on, and the other hardware threads of their cores. Where a process is
	// not pinned they are all CPUs of the machine. Times are sums over them.
	CPUs []int `json:"cpus"`
	// ServerCPUs are those on the server's host, where that is another one: times and counts are then sums over both hosts, and
	// the span is that of the client's. Empty where that host does not tell.
	ServerCPUs []int `json:"server_cpus,omitempty"`
	// Share is by what StealNs and ForeignNs are divided to become shares of the sample's own CPUs: their number, without the
	// other threads of their cores, times the span.
	ShareNs   int64 `json:"share_ns"`
	StealNs   int64 `json:"steal_ns"`   // that the hypervisor gave to others while something here wanted to run
	ForeignNs int64 `json:"foreign_ns"` // used by processes that are not of the sample, the runner among them, and by the kernel
	StepNs    int64 `json:"step_ns"`    // how far the sum of both may be off, since the kernel counts in steps
	// Limit is the share beyond which the sample was disturbed; 0: it was not judged.
	Limit     float64 `json:"limit,omitempty"`
	Disturbed bool    `json:"disturbed,omitempty"`
	// Kept: disturbed, but in the row, since the run's budget was used up.
	Kept bool `json:"kept,omitempty"`

	// By role, summed over its processes and threads; a thread that ended meanwhile is missing.
	Switches   map[string]int64 `json:"involuntary_switches,omitempty"`
	Migrations map[string]int64 `json:"migrations,omitempty"` // from one CPU to another
	Minor      map[string]int64 `json:"minor_faults,omitempty"`
	Major      map[string]int64 `json:"major_faults,omitempty"`
	// KHz is the frequency of each of CPUs just after the window; empty where the system does not tell.
	KHz []int64 `json:"khz,omitempty"`
}

// Steal and Foreign are shares of the time of the sample's CPUs, from 0; with another thread of a core counted in, above 1 at
// worst.
func (i *Interference) Steal() float64   { return float64(i.StealNs) / float64(max(i.ShareNs, 1)) }
func (i *Interference) Foreign() float64 { return float64(i.ForeignNs) / float64(max(i.ShareNs, 1)) }

// Check refuses figures that no run writes.
func (i *Interference) Check() error {
	if i == nil {
		return nil
	}
	if i.SpanNs <= 0 || i.ShareNs <= 0 {
		return fmt.Errorf("interference: span_ns %d, share_ns %d: want more than 0", i.SpanNs, i.ShareNs)
	}
	if i.StealNs < 0 || i.ForeignNs < 0 || i.StepNs < 0 || i.Limit < 0 {
		return errors.New("interference: a time or a limit below 0")
	}
	return nil
}

// Calibration is how fast two round trips were that have nothing to do with any transport: the index of a round. When they
// change within a run, the machine did.
type Calibration struct {
	// Of is the shard and the machine, in the journal of a merged run; else empty.
	Of string `json:"of,omitempty"`
	// LineNs and PipeNs are the lower quartiles in ns of a round trip between two processes on the CPUs of client and server: over two
	// cache lines in shared memory, each side spinning, and over two pipes, each side blocking. 0 where it failed.
	LineNs float64 `json:"line_ns,omitempty"`
	PipeNs float64 `json:"pipe_ns,omitempty"`
	// LineIndex and PipeIndex are the ratios of these times to their medians over the run until then, this one included: above 1
	// where the machine is slower than it mostly was. Reports take the median of the whole run.
	LineIndex float64 `json:"line_index,omitempty"`
	PipeIndex float64 `json:"pipe_index,omitempty"`
	// LineTrips and PipeTrips are how many there were.
	LineTrips int64 `json:"line_trips,omitempty"`
	PipeTrips int64 `json:"pipe_trips,omitempty"`
}

func (c *Calibration) check(reason string) error {
	switch {
	case c == nil:
		return errors.New("calibration without its figures")
	case c.LineNs < 0 || c.PipeNs < 0:
		return errors.New("calibration: a time below 0")
	case (c.LineNs == 0 || c.PipeNs == 0) && reason == "":
		return errors.New("calibration without a figure and without a reason")
	}
	return nil
}
