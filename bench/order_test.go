package bench

import (
	"context"
	"slices"
	"testing"

	"msgbench/results"
)

// The rows of the page stand in the order in which its cells are measured: each section by rate, then server, then client.
func TestOrderOfThePage(t *testing.T) {
	var cells []results.Cell
	for _, rate := range []int{0, 1000, 100_000} { // as a suite has them: rates outermost
		for _, scenario := range []string{"batch", "ping-pong"} {
			for _, transport := range []string{"pipe", "shm"} {
				for _, client := range []string{"c", "go", "rust"} {
					for _, server := range []string{"c", "go", "rust"} {
						cells = append(cells, results.Cell{Scenario: scenario, Transport: transport, Client: client, Server: server, Payload: 8, Rate: rate})
					}
				}
			}
		}
	}
	p := results.Policy{Order: results.OrderPage}
	got := Arrange(p, cells)
	// The first rows of the published CSV, which are of ping-pong over named pipes: client, server.
	for i, want := range [][2]string{{"c", "c"}, {"rust", "c"}, {"go", "c"}, {"c", "rust"}, {"rust", "rust"}, {"go", "rust"}, {"c", "go"},
		{"rust", "go"}, {"go", "go"}} {
		for block, rate := range []int{0, 100_000, 1000} {
			for section, name := range [][2]string{{"ping-pong", "pipe"}, {"ping-pong", "shm"}, {"batch", "pipe"}, {"batch", "shm"}} {
				c := got[section*27+block*9+i]
				if c.Scenario != name[0] || c.Transport != name[1] || c.Rate != rate || c.Client != want[0] || c.Server != want[1] {
					t.Errorf("place %d: %s, want %s over %s at %d, %s to %s", section*27+block*9+i, c.Key(), name[0], name[1], rate, want[0], want[1])
				}
			}
		}
	}
	if some := Arrange(results.Policy{}, cells); !slices.EqualFunc(some, cells, func(a, b results.Cell) bool { return a.Key() == b.Key() }) {
		t.Error("a random order is one of the rounds, not of the cells")
	}
}

// A run in the order of the page has it in every round, and in those that a precision adds.
func TestRunInTheOrderOfThePage(t *testing.T) {
	r := testRun(5, "pipe", "shm")
	slow := r.Cells[0]
	slow.Rate = 1000
	r.Cells = append([]results.Cell{slow}, r.Cells...)
	r.Policy.Order, r.Policy.Precision = results.OrderPage, 0.001
	f := &fakeSampler{rate: func(cell string, n int) float64 {
		if cell == r.Cells[2].Key() {
			return 1000
		}
		return 1000 + float64(n*37%200)
	}}
	if _, err := Run(context.Background(), t.TempDir(), r, noSkip, f, &events{}); err != nil {
		t.Fatal(err)
	}
	pipe, pipeSlow, shm := r.Cells[1].Key(), slow.Key(), r.Cells[2].Key()
	for round := range 6 {
		if got, want := f.taken[3*round:3*round+3], []string{pipe, pipeSlow, shm}; !slices.Equal(got, want) {
			t.Errorf("round %d: %v, want %v", round, got, want)
		}
	}
	for round := range 22 {
		if got, want := f.taken[18+2*round:20+2*round], []string{pipe, pipeSlow}; !slices.Equal(got, want) {
			t.Errorf("round %d: %v, want %v", 6+round, got, want)
		}
	}
}
