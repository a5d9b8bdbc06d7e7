package machine

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// CoreMap is how long a cache line takes between CPUs: the round trip of one value that two threads, each on its CPU and
// spinning, write in turn.
type CoreMap struct {
	CPUs []int `json:"cpus"`
	// Of is how many CPUs were allowed; more than CPUs where only a part was measured.
	Of int `json:"of"`
	// Ns is the best of many batches for each pair, [row][column] as in CPUs: symmetric, 0 on the diagonal and where nothing
	// could be measured in time.
	Ns [][]float64 `json:"round_trip_ns"`
}

// maxMapped is how many CPUs are measured against each other at most.
const maxMapped = 16

// MapTime bounds how long MeasureCores takes, about.
const MapTime = 2 * time.Second

// sampled is at most n of the CPUs, spread over all of them.
func sampled(cpus []int, n int) []int {
	if len(cpus) <= n {
		return cpus
	}
	var out []int
	for i := range n {
		out = append(out, cpus[i*len(cpus)/n])
	}
	return out
}

// extremes are the pairs with the shortest and the longest round trip; ok is false where nothing was measured.
func (m *CoreMap) extremes() (near, far [2]int, lo, hi float64, ok bool) {
	lo = math.Inf(1)
	for i, row := range m.Ns {
		for j := range row[:i] {
			ns := row[j]
			if ns == 0 {
				continue
			}
			pair := [2]int{m.CPUs[j], m.CPUs[i]}
			if ns < lo {
				near, lo = pair, ns
			}
			if ns > hi {
				far, hi = pair, ns
			}
		}
	}
	return near, far, lo, hi, hi > 0
}

// Table is the map for people, empty where there is nothing to show.
func (m *CoreMap) Table() string {
	if m == nil || len(m.CPUs) < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteString("cache line between CPUs, ns a round trip")
	if m.Of > len(m.CPUs) {
		fmt.Fprintf(&b, " (%d of %d CPUs)", len(m.CPUs), m.Of)
	}
	b.WriteString("\n    ")
	for _, id := range m.CPUs {
		fmt.Fprintf(&b, "%6d", id)
	}
	for i, id := range m.CPUs {
		fmt.Fprintf(&b, "\n%4d", id)
		for j := range m.CPUs {
			switch {
			case i == j:
				b.WriteString("     –")
			case m.Ns[i][j] == 0:
				b.WriteString("     ?")
			default:
				fmt.Fprintf(&b, "%6.0f", m.Ns[i][j])
			}
		}
	}
	return b.String() + "\n"
}

// farther is the ratio of the longest to the shortest round trip from which on it matters which CPUs roles have.
const farther = 1.5

// coreMapCheck is about where roles are, as measured.
func coreMapCheck(m *CoreMap) Check {
	c := Check{
		Name: "core to core", Status: OK,
		Effect: "a transport in shared memory costs at least that; figures of roles on near and on far CPUs do not compare",
	}
	if m == nil {
		c.Status = Unknown
		return c
	}
	near, far, lo, hi, ok := m.extremes()
	switch {
	case !ok:
		c.Status = Unknown
	case near == far:
		c.Found = fmt.Sprintf("a cache line goes there and back in %.0f ns (CPU %d and %d)", lo, near[0], near[1])
	default:
		c.Found = fmt.Sprintf("a cache line goes there and back in %.0f ns (CPU %d and %d) to %.0f ns (%d and %d)", lo, near[0], near[1], hi, far[0], far[1])
		c.Fix = fmt.Sprintf("--pin client=%d,server=%d has the nearest pair; keep one --pin in all runs that are compared", near[0], near[1])
		if hi > farther*lo {
			c.Status = Warn
		}
	}
	return c
}
