package bench

import (
	"context"
	"testing"
	"time"

	"msgbench/bench/areg"
	"msgbench/peers"
	"msgbench/results"
	"msgbench/transports"
	"msgbench/transports/all"
)

// TestEverything runs every scenario over every transport for a few hundred operations, in processes, with every content
// check on.
func TestEverything(t *testing.T) {
	long(t)
	w := testWorkers(t)
	w.policy.WarmupOps, w.policy.Warmup, w.policy.Count = 20, 0, 200
	w.policy.MaxRamp = 1000
	catalog := testCatalog()
	catalog.Override.Clients, catalog.Override.Servers = []string{"go"}, []string{"go"} // TestPeers has the others
	s, err := LoadSuite("full", catalog)
	if err != nil {
		t.Fatal(err)
	}
	cells := s.Cells
	extra := `name: more
cells:
  - {scenario: pipeline, transport: TRANSPORTS, mode: window, payload: [0, 4096]}
  - {scenario: broadcast, transport: TRANSPORTS, mode: pull, subscribers: 2}
  - {scenario: broadcast, transport: TRANSPORTS, rate: 2000, subscribers: 2}
  - {scenario: [batch, snapshot, ping-pong], transport: TRANSPORTS, rate: 2000}
  - {scenario: ping-pong, transport: TRANSPORTS, payload: [0, 100000]}
`
	more, err := ParseSuite("more", []byte(replaceTransports(extra)), catalog)
	if err != nil {
		t.Fatal(err)
	}
	sampleAll(t, w, append(cells, more.Cells...))
}

// TestSmallestBuffers runs what keeps several messages in flight through the smallest buffers that the kernel gives:
// nothing may deadlock. TCP needs many a timeout for a message there, hence the few operations.
func TestSmallestBuffers(t *testing.T) {
	w := testWorkers(t)
	w.policy.WarmupOps, w.policy.Warmup, w.policy.Count = 1, 0, 2
	w.policy.MaxRamp = 1000
	s, err := ParseSuite("s", []byte(`name: s
cells:
  - {scenario: pipeline-batch, transport: [pipe, uds, tcp], buffer: 1}
  - {scenario: pipeline, transport: [pipe, uds, tcp], buffer: 1, payload: [0, 4096], mode: [cycle, window]}
  - {scenario: pipeline, transport: [pipe, uds], buffer: 1, payload: 20000, mode: [cycle, window]}
  - {scenario: broadcast, transport: [pipe, uds, tcp], buffer: 1, payload: 20000, subscribers: 2}
`), testCatalog())
	if err != nil {
		t.Fatal(err)
	}
	sampleAll(t, w, s.Cells)
}

// sampleAll takes a sample of each cell and checks what must hold in all of them.
func sampleAll(t *testing.T, w *Workers, cells []results.Cell) {
	t.Helper()
	for _, cell := range cells {
		if reason := probe(cell.Transport); reason != "" {
			t.Logf("%s: %s", cell.Key(), reason)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		s, err := w.Sample(ctx, cell)
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", cell.Key(), err)
		}
		if s.Outcome == results.Failed {
			t.Errorf("%s: %s %v", cell.Key(), s.Reason, s.Stderr)
			continue
		}
		m := s.Measurement
		if m.Lost+m.Duplicated+m.Reordered != 0 && m.Facts["lossy"] == "" {
			t.Errorf("%s: lost %d, duplicated %d, reordered %d", cell.Key(), m.Lost, m.Duplicated, m.Reordered)
		}
		if cell.Transport != noTransport && m.Received == 0 {
			t.Errorf("%s: nothing received", cell.Key())
		}
		if cell.Rate == 0 && m.Ops < w.policy.Count {
			t.Errorf("%s: %d operations", cell.Key(), m.Ops)
		}
	}
}

func testCatalog() Catalog {
	c := Catalog{Scenarios: scenarioTable(), Transports: append(Transports(all.Table()), areg.Transport{}), Peers: map[string]Peer{"go": {},
		areg.Name: {Transports: []string{areg.Name}, Scenarios: areg.Scenarios}}}
	for _, p := range peers.Table {
		c.Peers[p.Name] = Peer{Transports: p.Transports, Scenarios: p.Scenarios, FixedPort: !p.Port0, NoNagle: p.NoNagle}
	}
	return c
}

// probe says why a transport can't run here.
func probe(name string) string {
	for _, t := range all.Table() {
		if p, ok := t.(transports.Prober); ok && t.Info().Name == name {
			if err := p.Probe(); err != nil {
				return err.Error()
			}
		}
	}
	return ""
}
