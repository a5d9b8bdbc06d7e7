package bench

import (
	"slices"
	"strings"
	"testing"

	"msgbench/results"
	"msgbench/scenarios"
	"msgbench/transports/all"
)

func scenarioTable() []scenarios.Scenario { return scenarios.Table }

// replaceTransports puts the direct transports in place of TRANSPORTS.
func replaceTransports(s string) string {
	var names []string
	for _, t := range all.Table() {
		if !t.Info().Brokered {
			names = append(names, t.Info().Name)
		}
	}
	return strings.ReplaceAll(s, "TRANSPORTS", "["+strings.Join(names, ", ")+"]")
}

func keys(cells []results.Cell) []string {
	var k []string
	for _, c := range cells {
		k = append(k, c.Key())
	}
	return k
}

func TestBuiltInSuites(t *testing.T) {
	want := map[string]int{"quick": 18, "latency": 286, "pubsub": 1440, "pubsub-short": 48}
	for _, name := range SuiteNames() {
		s, err := LoadSuite(name, testCatalog())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.Name != name || s.Summary == "" {
			t.Errorf("%s: name %q, summary %q", name, s.Name, s.Summary)
		}
		if n, ok := want[name]; ok && len(s.Cells) != n {
			t.Errorf("%s has %d cells, want %d", name, len(s.Cells), n)
		}
	}
}

func TestKeysOfSuites(t *testing.T) {
	s, err := ParseSuite("s", []byte(`name: s
cells:
  - {scenario: ping-pong, transport: shm, payload: 8}
  - {scenario: ping-pong, transport: uds, payload: 64B, rate: 10000, wait: [spin, block]}
  - {scenario: pipeline, transport: pipe, payload: 1KiB, depth: [16, 4], mode: window}
  - {scenario: lookup}
  - {scenario: batch, transport: tcp, rate: [max, 1000], pin: [none, same-core]}
  - {scenario: broadcast, transport: tcp, payload: 1kB, subscribers: [1, 8]}
  - {scenario: broadcast, transport: tcp, rate: 1000}
  - {scenario: ping-pong, transport: tcp, gc: [on, off]}
`), testCatalog())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ping-pong/shm/go-go/8B/max",
		"ping-pong/uds/go-go/64B/10000/wait=spin",
		"ping-pong/uds/go-go/64B/10000",
		"pipeline/pipe/go-go/1024B/max/mode=window",
		"pipeline/pipe/go-go/1024B/max/depth=4/mode=window",
		"lookup/-/go-go/-/max",
		"batch/tcp/go-go/-/max/pin=none",
		"batch/tcp/go-go/-/max/pin=same-core",
		"batch/tcp/go-go/-/1000/pin=none",
		"batch/tcp/go-go/-/1000/pin=same-core",
		"broadcast/tcp/go-go/1000B/max",
		"broadcast/tcp/go-go/1000B/max/subscribers=8",
		"broadcast/tcp/go-go/64B/1000",
		"ping-pong/tcp/go-go/64B/max",
		"ping-pong/tcp/go-go/64B/max/gc=off",
	}
	if got := keys(s.Cells); !slices.Equal(got, want) {
		t.Errorf("keys\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestBadCells(t *testing.T) {
	for _, c := range []struct{ cell, want string }{
		{"{transport: shm}", "every entry of cells needs scenario"},
		{"{scenario: ping-pong}", "transport: ping-pong needs one"},
		{"{scenario: lookup, transport: shm}", "transport: lookup takes none"},
		{"{scenario: batch, transport: shm, payload: 8}", "payload: batch has none to choose"},
		{"{scenario: pipeline, transport: shm, rate: 1000}", "rate: pipeline runs at max only"},
		{"{scenario: pipeline, transport: shm, depth: 0}", `depth: "0" is not a number from 1 to 1024`},
		{"{scenario: broadcast, transport: shm, subscribers: 0}", `subscribers: "0" is not a number from 1 to 64`},
		{"{scenario: ping-pong, transport: shm, depth: 4}", "depth: ping-pong has no such dimension"},
		{"{scenario: broadcast, transport: shm, mode: rate}", "mode: rate needs a fixed rate"},
		{"{scenario: ping-pong, transport: shm, payload: 8XB}", `payload: "8XB" is not a number of bytes`},
		{"{scenario: ping-pong, transport: shm, payload: 1000000000}", "payload: shm carries messages of at most"},
		{"{scenario: ping-pong, transport: shm, pin: nowhere}", "unknown plan"},
		{"{scenario: ping-pong, transport: shm, rate: 0}", "rate: "},
		{"{scenario: ping-pong, transport: shm, gc: never}", `gc: "never" is neither on nor off`},
		{"{scenario: ping-pong, transport: shm, rate: -1}", "rate: "},
	} {
		_, err := ParseSuite("s", []byte("name: s\ncells:\n  - "+c.cell+"\n"), testCatalog())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.cell, err, c.want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int{"0": 0, "64": 64, "64B": 64, "1KiB": 1024, "4MiB": 4 << 20, "1kB": 1000, "2MB": 2_000_000} {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "B", "-1", "+1", "1.5", "1KB", "1kiB", "1 KiB", "1e3", "99999999999999999999", "9999999999MiB"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("%q: %d, want an error", s, got)
		}
	}
}

func TestRoundsAreSeeded(t *testing.T) {
	if !slices.Equal(Round(7, 2, 50), Round(7, 2, 50)) {
		t.Error("the same seed and round give different orders")
	}
	if slices.Equal(Round(7, 2, 50), Round(7, 3, 50)) || slices.Equal(Round(7, 2, 50), Round(8, 2, 50)) {
		t.Error("rounds or seeds share an order")
	}
	order := Round(7, 2, 50)
	slices.Sort(order)
	for i, v := range order {
		if i != v {
			t.Fatal("not every cell once")
		}
	}
}
