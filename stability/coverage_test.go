//go:build !race

// A simulation in one goroutine, where the race detector can find nothing and takes ten times as long.

package stability

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"msgbench/results"
)

// noise is how the samples of a cell scatter, in logarithms around a typical value: a mixture of kinds of samples, each
// normal, and what the machine does to a round, which is normal too and resembles that of the round before. The figures were
// fitted to journals of this project, of virtual machines with two CPUs in December 2026: medians and scaled median deviations
// of throughput and p50 after the round's own effect (the median over its cells) was taken out.
type noise struct {
	name  string
	from  string // where its figures come from
	kinds []kind
	// round is the deviation of the effect of a round, and memory its correlation with that of the round before.
	round, memory float64
	madeUp        bool
}

// kind of samples: their share, the mean and deviation of the logarithms of throughput and p50, and by how much p50 grows
// where throughput falls.
type kind struct{ share, t, tDev, p, pDev, against float64 }

var noises = []noise{
	{name: "steady", from: "ping-pong over the broker's raw hop on a quiet machine: deviation 1.3 to 3 %",
		kinds: []kind{{share: 1, tDev: 0.02, pDev: 0.01, against: 0.8}}},
	{name: "spiky", from: "28 rounds of pipe, uds, tcp and nng-ipc on a loaded machine, without what a whole round had in common: " +
		"8 to 10 %, and 1 sample in 14 slower by a third on average, its p50 hardly",
		kinds: []kind{{share: 0.93, tDev: 0.09, pDev: 0.05, against: 0.8}, {share: 0.07, t: -0.45, tDev: 0.2, p: 0.1, pDev: 0.1}}},
	{name: "bimodal", from: "shm at max in the same run: 2 of 25 samples 2 to 3.5 times as fast, with 0.28 of the p50",
		kinds: []kind{{share: 0.92, tDev: 0.15, pDev: 0.03}, {share: 0.08, t: 1, tDev: 0.3, p: -1.27, pDev: 0.03}}},
	{name: "bimodal, even", from: "made up: the same two modes, the rarer one in 2 of 5 samples", madeUp: true,
		kinds: []kind{{share: 0.6, tDev: 0.15, pDev: 0.03}, {share: 0.4, t: 1, tDev: 0.3, p: -1.27, pDev: 0.03}}},
	{name: "drifting", from: "what the rounds of that run had in common: deviation 17 %, correlation of neighbours 0.51; within a round 9 %",
		kinds: []kind{{share: 1, tDev: 0.09, pDev: 0.05, against: 0.8}}, round: 0.17, memory: 0.51},
	{name: "drifting, slowly", from: "made up: the same deviation, but neighbours are correlated by 0.9, and 3 % within a round", madeUp: true,
		kinds: []kind{{share: 1, tDev: 0.03, pDev: 0.02, against: 0.8}}, round: 0.17, memory: 0.9},
}

// follow is the part of the effect of a round on p50.
const follow = -0.8

// cellPath is what happens to one cell: its samples, and the effects of their rounds.
type cellPath struct{ t, p, effect []float64 }

func (n noise) path(r *rand.Rand, rounds int) cellPath {
	var c cellPath
	state := r.NormFloat64()
	for range rounds {
		c.effect = append(c.effect, n.round*state)
		state = n.memory*state + math.Sqrt(1-n.memory*n.memory)*r.NormFloat64()
		k := n.kinds[0]
		for u, i := r.Float64(), 0; u >= k.share && i < len(n.kinds)-1; i++ {
			u -= k.share
			k = n.kinds[i+1]
		}
		own := k.tDev * r.NormFloat64()
		e := c.effect[len(c.effect)-1]
		c.t = append(c.t, math.Exp(e+k.t+own))
		c.p = append(c.p, math.Exp(follow*e+k.p-k.against*own+k.pDev*r.NormFloat64()))
	}
	return c
}

// component is a normal distribution of logarithms.
type component struct{ share, mean, dev float64 }

// components of throughput and p50 in a round of this effect, whose deviation is more than 0 for one that is not known.
func (n noise) components(effect, dev float64) (t, p []component) {
	for _, k := range n.kinds {
		t = append(t, component{k.share, k.t + effect, math.Hypot(k.tDev, dev)})
		p = append(p, component{k.share, k.p + follow*effect, math.Hypot(math.Hypot(k.against*k.tDev, k.pDev), follow*dev)})
	}
	return t, p
}

// below is the share of a mixture that lies below v.
func below(mix []component, v float64) float64 {
	sum, total := 0.0, 0.0
	for _, c := range mix {
		sum += c.share * (1 + math.Erf((math.Log(v)-c.mean)/(c.dev*math.Sqrt2))) / 2
		total += c.share
	}
	return sum / total
}

// holdsMedian tells whether an interval holds the median of a mixture.
func holdsMedian(interval [2]float64, mix []component) bool {
	return below(mix, interval[0]) <= 0.5 && below(mix, interval[1]) >= 0.5
}

// quantileOf is a quantile of a mixture, by bisection.
func quantileOf(mix []component, q float64) float64 {
	lo, hi := 1e-3, 1e3
	for hi/lo > 1+1e-9 {
		if m := math.Sqrt(lo * hi); below(mix, m) < q {
			lo = m
		} else {
			hi = m
		}
	}
	return lo
}

// during is the population that rounds with these effects are drawn from, a round as likely as another.
func (n noise) during(effects []float64) (t, p []component) {
	if n.round == 0 {
		effects = effects[:1]
	}
	for _, e := range effects {
		mt, mp := n.components(e, 0)
		t, p = append(t, mt...), append(p, mp...)
	}
	return t, p
}

// tally is what comes out of many cells of one kind of noise under one setting.
type tally struct {
	cells, precise, published, samples int
	t, p, long                         int // intervals that hold the true median of the rounds measured, and that of all times
	shown                              int // of the published ones, that hold it
}

// simulate measures many cells under each setting, as a run does: up to the look at which they are precise enough, and once
// more where the core does not hold. Every setting sees the same cells.
func simulate(n noise, settings []results.Policy, cells int, seed uint64) []tally {
	r := rand.New(rand.NewPCG(seed, 7))
	out := make([]tally, len(settings))
	always, _ := n.components(0, n.round)
	for range cells {
		path := n.path(r, 2*looks[len(looks)-1])
		for i, p := range settings {
			first := measuredUntil(p, path, 0)
			row := first
			if !first.core.holds {
				row = measuredUntil(p, path, first.n)
			}
			tally := &out[i]
			tally.cells++
			tally.samples += first.n
			if row.from > 0 {
				tally.samples += row.n
			}
			t, p50 := n.during(path.effect[row.from : row.from+row.n])
			count := func(k *int, yes bool) {
				if yes {
					*k++
				}
			}
			right := holdsMedian(row.t, t)
			count(&tally.t, right)
			count(&tally.p, holdsMedian(row.p, p50))
			count(&tally.long, holdsMedian(row.t, always))
			count(&tally.precise, row.precise)
			count(&tally.published, row.core.holds)
			count(&tally.shown, row.core.holds && right)
		}
	}
	return out
}

type simulated struct {
	from, n int
	t, p    [2]float64
	precise bool
	core    core
}

func measuredUntil(p results.Policy, path cellPath, from int) simulated {
	s := simulated{from: from}
	for _, n := range Looks(p) {
		t, p50 := path.t[from:from+n], path.p[from:from+n]
		w := Width{Samples: n, Throughput: width(t), P50: width(p50), Timed: true}
		s.n, s.precise = n, p.Precision > 0 && w.Within(p.Precision)
		if s.precise {
			break
		}
	}
	t, p50 := path.t[from:from+s.n], path.p[from:from+s.n]
	interval := lookInterval
	if p.Precision == 0 {
		interval = func(v []float64) (float64, float64, bool) { lo, hi, _, ok := Interval(v); return lo, hi, ok }
	}
	s.t[0], s.t[1], _ = interval(t)
	s.p[0], s.p[1], _ = interval(p50)
	s.core = coreOf(t, p)
	return s
}

// settings are the rows of the table, and their names.
func settings() (list []results.Policy, names []string) {
	for _, v := range []float64{0, 0.1, 0.05, 0.03} {
		p := results.DefaultPolicy()
		p.Precision = v
		name := fmt.Sprintf("±%g %%", 100*v)
		if v == 0 {
			name = "5 samples"
		}
		list, names = append(list, p), append(names, name)
	}
	return list, names
}

// Whoever stops when an interval is narrow finds intervals that are too narrow, if they do not allow for it. Of these, of
// throughput and of p50, at least 93 % hold the true median of the rounds that were measured, at every precision and in
// every noise; and with five samples in every noise that was found, not in the one that was made up. Cells whose population is
// unsteady pass more rarely with a precision than with five samples. The tables of docs/precision.md are what comes out.
func TestCoverageWhenStopping(t *testing.T) {
	const cells, least = 2000, 0.93
	list, names := settings()
	var models, table strings.Builder
	models.WriteString("| noise | q80/q20 | taken from |\n|---|---:|---|\n")
	table.WriteString("| noise | setting | samples a cell | precise | throughput | p50 | of all times | published | and right |\n" +
		"|---|---|---:|---:|---:|---:|---:|---:|---:|\n")
	share := func(k, of int) string {
		if of == 0 {
			return "–"
		}
		return fmt.Sprintf("%.1f %%", 100*float64(k)/float64(of))
	}
	for _, n := range noises {
		mix, _ := n.components(0, n.round)
		ratio := quantileOf(mix, 0.8) / quantileOf(mix, 0.2)
		fmt.Fprintf(&models, "| %s | %.2f | %s |\n", n.name, ratio, n.from)
		var five tally
		for i, c := range simulate(n, list, cells, 1) {
			precise := share(c.precise, c.cells)
			if list[i].Precision == 0 {
				five, precise = c, ""
			}
			fmt.Fprintf(&table, "| %s | %s | %.1f | %s | %s | %s | %s | %s | %s |\n", n.name, names[i], float64(c.samples)/float64(c.cells), precise,
				share(c.t, c.cells), share(c.p, c.cells), share(c.long, c.cells), share(c.published, c.cells), share(c.shown, c.published))
			for what, k := range map[string]int{"throughput": c.t, "p50": c.p} {
				if got := float64(k) / float64(c.cells); got < least && (list[i].Precision > 0 || !n.madeUp) {
					t.Errorf("%s, %s: %.4f of the intervals of %s hold the true median, want %v", n.name, names[i], got, what, least)
				}
			}
			if ratio > list[i].CoreRatio && list[i].Precision > 0 && c.published >= five.published {
				t.Errorf("%s, %s: %d of %d unsteady cells pass, and %d with five samples", n.name, names[i], c.published, c.cells, five.published)
			}
		}
	}
	doc, err := os.ReadFile("../docs/precision.md")
	for _, part := range []string{models.String(), table.String()} {
		if err != nil || !strings.Contains(string(doc), part) {
			t.Errorf("docs/precision.md (%v) does not hold this:\n%s", err, part)
		}
	}
}

// The simulation stops where a run does: the journal of a cell that goes through the same samples ends at the same look.
func TestSimulationStopsAsARunDoes(t *testing.T) {
	list, _ := settings()
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range noises {
		path := n.path(r, looks[len(looks)-1])
		var samples []results.Sample
		for i := range path.t {
			// The simulation has no histograms, which round to a thousandth: it sees what comes out of them.
			s := measured(atMax, i, int64(1e6*path.t[i]), int64(1e4*path.p[i]))
			path.t[i], path.p[i] = s.Measurement.Throughput(), quantile(s.Measurement.Latency, 0.5)
			samples = append(samples, s)
		}
		for _, p := range list[1:] {
			run := runOf(atMax)
			run.Policy = p
			had := Looks(p)[0]
			for look := range Looks(p)[1:] {
				keys, err := GoOn(run, journal(samples[:had]), 0, look)
				if err != nil {
					t.Fatal(err)
				}
				if len(keys) == 0 {
					break
				}
				had = Looks(p)[look+1]
			}
			if want := measuredUntil(p, path, 0).n; had != want {
				t.Errorf("%s, %g: the run stops at %d samples, the simulation at %d", n.name, p.Precision, had, want)
			}
		}
	}
}
