package machine

import (
	"context"
	"testing"
	"time"

	"msgbench/pinning"
)

// The map of this machine: every pair of CPUs that could be had has one figure, a possible one.
func TestMeasureCores(t *testing.T) {
	topology, err := pinning.System()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	m := MeasureCores(t.Context(), topology.Allowed)
	if d := time.Since(begun); d > 30*time.Second {
		t.Errorf("took %s", d)
	}
	t.Logf("\n%s", m.Table())
	if len(m.CPUs) != min(len(topology.Allowed), maxMapped) || m.Of != len(topology.Allowed) {
		t.Fatalf("%d of %d CPUs", len(m.CPUs), m.Of)
	}
	for i := range m.CPUs {
		for j := range m.CPUs {
			ns := m.Ns[i][j]
			// On one core a round trip takes some ns; a loaded machine may let one of 100 wait, but hardly all.
			if ns != m.Ns[j][i] || (i == j) != (ns == 0) && len(m.CPUs) > 2 || ns != 0 && (ns < 2 || ns > 1e7) {
				t.Errorf("CPU %d and %d: %g ns", m.CPUs[i], m.CPUs[j], ns)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m := MeasureCores(ctx, topology.Allowed); len(m.CPUs) > 1 && m.Ns[0][1] != 0 {
		t.Error("measured though cancelled")
	}
	// A CPU that is not there gives no figure, and does not hang.
	if ns := bounce(topology.Allowed[0], 60000, 10*time.Millisecond); ns != 0 {
		t.Errorf("CPU 60000: %g ns", ns)
	}
}

func TestCoreTable(t *testing.T) {
	m := &CoreMap{CPUs: []int{0, 4, 12}, Of: 16, Ns: [][]float64{{0, 61.4, 212}, {61.4, 0, 0}, {212, 0, 0}}}
	want := `cache line between CPUs, ns a round trip (3 of 16 CPUs)
         0     4    12
   0     –    61   212
   4    61     –     ?
  12   212     ?     –
`
	if got := m.Table(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := (*CoreMap)(nil).Table(); got != "" {
		t.Errorf("nil: %q", got)
	}
	var all []int
	for c := range 128 {
		all = append(all, c)
	}
	if got := sampled(all, 16); len(got) != 16 || got[0] != 0 || got[15] != 120 {
		t.Errorf("of 128: %v", got)
	}
}
