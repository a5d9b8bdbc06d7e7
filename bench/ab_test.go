package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"msgbench/results"
)

func quickCells(t *testing.T) (Catalog, []results.Cell) {
	t.Helper()
	c := testCatalog()
	c.Peers[results.BaselinePeer] = Peer{Path: "/old", Transports: []string{"shm", "uds", "broker"}, Scenarios: []string{"ping-pong", "lookup"}}
	s, err := ParseSuite("test", []byte(`
name: test
cells:
  - {scenario: ping-pong, transport: [shm, uds, tcp, zmq-tcp, broker], payload: 64, rate: [max, 1000]}
  - {scenario: pipeline, transport: tcp, payload: 64, depth: [4, 16]}
  - {scenario: lookup}
`), c)
	if err != nil {
		t.Fatal(err)
	}
	return c, s.Cells
}

func TestAgainst(t *testing.T) {
	c, cells := quickCells(t)
	for _, tt := range []struct {
		setting, a, b string
		pairs, left   int
		has           results.Pair
	}{
		{"client", "go", "libzmq", 2, 11, results.Pair{A: "ping-pong/zmq-tcp/go-go/64B/max", B: "ping-pong/zmq-tcp/libzmq-go/64B/max"}},
		{"transport", "shm", "tcp", 4, 1, results.Pair{A: "ping-pong/shm/go-go/64B/1000", B: "ping-pong/tcp/go-go/64B/1000"}},
		{"payload", "8", "1KiB", 12, 1, results.Pair{A: "ping-pong/tcp/go-go/8B/max", B: "ping-pong/tcp/go-go/1024B/max"}},
		{"wait", "block", "spin", 8, 5, results.Pair{A: "ping-pong/uds/go-go/64B/max", B: "ping-pong/uds/go-go/64B/max/wait=spin"}},
		{"depth", "4", "16", 1, 11, results.Pair{A: "pipeline/tcp/go-go/64B/max/depth=4", B: "pipeline/tcp/go-go/64B/max"}},
		{"nodelay", "off", "on", 6, 7, results.Pair{A: "ping-pong/tcp/go-go/64B/max/nodelay=off", B: "ping-pong/tcp/go-go/64B/max"}},
		{"scope", "stack", "raw", 2, 11, results.Pair{A: "ping-pong/broker/go-go/64B/max", B: "ping-pong/broker/go-go/64B/max/scope=raw"}},
		{"pin", "spread", "same-core", 13, 0, results.Pair{A: "lookup/-/go-go/-/max/pin=spread", B: "lookup/-/go-go/-/max/pin=same-core"}},
		{results.Build, results.BaselinePeer, "this", 7, 6, results.Pair{A: "ping-pong/broker/baseline-baseline/64B/max", B: "ping-pong/broker/go-go/64B/max"}},
	} {
		ab, both, left, err := c.Against(cells, tt.setting, tt.a, tt.b)
		if err != nil {
			t.Errorf("%s: %v", tt.setting, err)
			continue
		}
		if len(ab.Pairs) != tt.pairs || left != tt.left || !slices.Contains(ab.Pairs, tt.has) {
			t.Errorf("%s: %d pairs, %d cells left out, want %d and %d, and %v among %v", tt.setting, len(ab.Pairs), left, tt.pairs, tt.left, tt.has, ab.Pairs)
		}
		seen := map[string]bool{}
		for i, cell := range both {
			p := ab.Pairs[i/2]
			if key := cell.Key(); seen[key] || key != p.A && key != p.B {
				t.Errorf("%s: cell %s of %v", tt.setting, key, p)
			}
			seen[cell.Key()] = true
		}
	}
	// A dimension at the transport's default stays there; one that the suite sets stays as it is.
	spin, _, _, err := c.Against(cells[:1], "wait", "spin", "block")
	if err != nil {
		t.Fatal(err)
	}
	if spin.Pairs[0].A != "ping-pong/shm/go-go/64B/max/wait=spin" {
		t.Errorf("%v", spin.Pairs)
	}
}

// Both sides of a pair are on the hosts on which the cell is.
func TestAgainstOnTwoHosts(t *testing.T) {
	c, cells := quickCells(t)
	tcp := slices.DeleteFunc(cells, func(c results.Cell) bool { return c.Transport != "tcp" || c.Scenario != "ping-pong" })
	ab, both, left, err := c.Against(OnTwoHosts(tcp), "payload", "8", "64")
	want := results.Pair{A: "ping-pong/tcp/go-go/8B/max/hosts=2", B: "ping-pong/tcp/go-go/64B/max/hosts=2"}
	if err != nil || len(both) != 4 || left != 0 || !slices.Contains(ab.Pairs, want) {
		t.Errorf("%v, %d cells, %d left, %v", ab.Pairs, len(both), left, err)
	}
	_, both, _, err = c.Against(OnTwoHosts(tcp), "client", "go", "c")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckTwoHosts(both); err == nil || !strings.Contains(err.Error(), "c-go/64B/max/hosts=2: the peer c is built on this host only") {
		t.Errorf("a peer of this host only: %v", err)
	}
}

func TestAgainstRefuses(t *testing.T) {
	c, cells := quickCells(t)
	for _, tt := range []struct{ setting, a, b, says string }{
		{"rate", "max", "1000", `--ab: unknown setting "rate" (known: client, server, transport, payload, buffer, `},
		{"scenario", "batch", "lookup", `unknown setting "scenario"`},
		{"client", "go", "go", "both sides are go"},
		{"client", "go", "nobody", `--ab: unknown peer "nobody"`},
		{"client", "libnng", "c", "--ab: libnng and go do not have"},
		{"transport", "shm", "tpc", `--ab: unknown transport "tpc"`},
		{"wait", "block", "sleep", "offers"},
		{"depth", "0", "1", "--ab: "},
		{"buffer", "64KiB", "65536", "both are the cell"},
	} {
		_, _, _, err := c.Against(cells, tt.setting, tt.a, tt.b)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s=%s,%s: %v, want %q", tt.setting, tt.a, tt.b, err, tt.says)
		}
	}
}

// A dimension that stays at its value is at the default of one transport and not of the other: no cell is in two pairs.
func TestAgainstTwice(t *testing.T) {
	c := testCatalog()
	s, err := ParseSuite("test", []byte("name: test\ncells:\n  - {scenario: ping-pong, transport: [shm, uds], payload: 8, wait: [spin, block]}\n"), c)
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = c.Against(s.Cells, "transport", "shm", "uds")
	if want := "ping-pong/uds/go-go/8B/max would be a side of two pairs, with ping-pong/shm/go-go/8B/max/wait=block and with " +
		"ping-pong/shm/go-go/8B/max: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	shm := slices.DeleteFunc(s.Cells, func(c results.Cell) bool { return c.Transport != "shm" })
	if ab, both, left, err := c.Against(shm, "transport", "shm", "uds"); err != nil || len(ab.Pairs) != 2 || len(both) != 4 || left != 0 {
		t.Errorf("%v, %d cells, %d left, %v", ab.Pairs, len(both), left, err)
	}
}

// In every round the two of a pair come right after each other, each of them first in about half of the rounds.
func TestOrderOfPairs(t *testing.T) {
	c, cells := quickCells(t)
	ab, both, _, err := c.Against(cells, "transport", "shm", "tcp")
	if err != nil {
		t.Fatal(err)
	}
	alone := cells[len(cells)-1]
	both = append(both, alone)
	first := map[string]int{}
	var orders []string
	for round := range 6 {
		order := Order(results.Policy{}, &ab, 7, round, both)
		var k []string
		for i := 0; i < len(order); i++ {
			key := order[i].Key()
			k = append(k, key)
			if key == alone.Key() {
				continue
			}
			first[key]++
			if other := order[i+1].Key(); ab.Partner(key) != other {
				t.Fatalf("round %d: after %s comes %s, want %s", round, key, other, ab.Partner(key))
			}
			i++
			k = append(k, order[i].Key())
		}
		if got := slices.Sorted(slices.Values(k)); !slices.Equal(got, slices.Sorted(slices.Values(keys(both)))) {
			t.Fatalf("round %d is not of all cells: %v", round, k)
		}
		orders = append(orders, strings.Join(k, " "))
	}
	for _, p := range ab.Pairs {
		if first[p.A] != 3 || first[p.B] != 3 {
			t.Errorf("%s was first %d times, %s %d times, of 6", p.A, first[p.A], p.B, first[p.B])
		}
	}
	slices.Sort(orders)
	if len(slices.Compact(orders)) < 5 {
		t.Error("rounds do not differ")
	}
	if fmt.Sprint(keys(Order(results.Policy{}, &ab, 7, 2, both))) != fmt.Sprint(keys(Order(results.Policy{}, &ab, 7, 2, both))) {
		t.Error("the same seed and round gave two orders")
	}
}

// Where one of a pair falls short, both are measured again, in the same rounds.
func TestPairsAreMeasuredAgainTogether(t *testing.T) {
	r := testRun(5, "pipe", "shm", "uds", "tcp")
	key := func(i int) string { return r.Cells[i].Key() }
	r.AB = &results.AB{Setting: "transport", Pairs: []results.Pair{{A: key(0), B: key(1)}, {A: key(2), B: key(3)}}}
	f := &fakeSampler{rate: func(cell string, n int) float64 {
		if cell == key(1) && n < 5 {
			return float64(int(1000) << n)
		}
		return 1000
	}}
	e := &events{}
	samples, err := Run(context.Background(), t.TempDir(), r, noSkip, f, e)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.reruns) != 1 || !slices.Equal(e.reruns[0], []string{key(0), key(1)}) {
		t.Fatalf("reruns of %v, want one of %s and %s", e.reruns, key(0), key(1))
	}
	rounds := map[string][]int{}
	for _, s := range samples {
		if s.Attempt == 1 {
			rounds[s.Cell] = append(rounds[s.Cell], s.Round)
		}
	}
	if len(rounds) != 2 || !slices.Equal(rounds[key(0)], rounds[key(1)]) || len(rounds[key(0)]) != 5 {
		t.Errorf("rounds of the rerun: %v", rounds)
	}
}
