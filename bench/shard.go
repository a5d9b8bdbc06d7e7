package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"msgbench/results"
)

// Shard is one of several parts of a run, each on a machine of its own. The zero value is a whole run.
type Shard struct{ Index, Of int } // Index from 1

// ParseShard reads "i/n".
func ParseShard(s string) (Shard, error) {
	i, n, ok := strings.Cut(s, "/")
	index, err1 := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || of < 1 || index < 1 || index > of {
		return Shard{}, fmt.Errorf("%q is not i/n with i from 1 to n, like 1/4", s)
	}
	return Shard{index, of}, nil
}

func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Cells are those of this shard, in their order. Cells that are compared with each other stay together: all transports,
// peers and rates of one scenario, payload and mode. The longest of these groups are given out first, each to the shard
// with the least to do so far, so every machine that is asked comes to the same answer.
func (s Shard) Cells(cells []results.Cell, p results.Policy) []results.Cell {
	if s.Of == 0 {
		return cells
	}
	type group struct {
		name  string
		takes time.Duration
	}
	var groups []*group
	byName := map[string]*group{}
	name := func(c results.Cell) string {
		return strings.Join([]string{c.Scenario, c.PayloadString(), c.Dim("mode"), c.Dim("subscribers"), c.Dim("depth")}, "/")
	}
	for _, c := range cells {
		g, ok := byName[name(c)]
		if !ok {
			g = &group{name: name(c)}
			byName[g.name] = g
			groups = append(groups, g)
		}
		g.takes += SampleTime(p, c)
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(-cmp.Compare(a.takes, b.takes), strings.Compare(a.name, b.name))
	})
	load := make([]time.Duration, s.Of)
	mine := map[string]bool{}
	for _, g := range groups {
		least := slices.Index(load, slices.Min(load))
		load[least] += g.takes
		if least == s.Index-1 {
			mine[g.name] = true
		}
	}
	var kept []results.Cell
	for _, c := range cells {
		if mine[name(c)] {
			kept = append(kept, c)
		}
	}
	return kept
}
