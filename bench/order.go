package bench

import (
	"math"
	"slices"

	"msgbench/results"
)

// The order of the page of netdata/plugin-ipc; what it does not have comes after it, in the order of the suite.
var (
	pageScenarios = []string{"ping-pong", "snapshot", "batch", "lookup", "pipeline", "pipeline-batch"}
	pagePeers     = []string{"c", "rust", "go"}
)

// Arrange gives the cells in the order that a policy asks for within each round: as they are where that is random, else
// that of the page: scenario and transport, then rate, max first and then from high to low, then server, then client. The
// dimensions stay in the order of the suite.
func Arrange(p results.Policy, cells []results.Cell) []results.Cell {
	if p.Order != results.OrderPage {
		return cells
	}
	scenario, transport, peer := ranks(pageScenarios), ranks(nil), ranks(pagePeers)
	type at struct {
		cell results.Cell
		key  [5]int
	}
	list := make([]at, len(cells))
	for i, c := range cells {
		rate := -c.Rate
		if c.Rate == 0 {
			rate = math.MinInt
		}
		list[i] = at{c, [5]int{scenario(c.Scenario), transport(c.Transport), rate, peer(c.Server), peer(c.Client)}}
	}
	slices.SortStableFunc(list, func(a, b at) int { return slices.Compare(a.key[:], b.key[:]) })
	sorted := make([]results.Cell, len(list))
	for i, x := range list {
		sorted[i] = x.cell
	}
	return sorted
}

// ranks numbers words: those that are known first, others as they come.
func ranks(known []string) func(string) int {
	rank := map[string]int{}
	for _, w := range known {
		rank[w] = len(rank)
	}
	return func(w string) int {
		if _, ok := rank[w]; !ok {
			rank[w] = len(rank)
		}
		return rank[w]
	}
}
