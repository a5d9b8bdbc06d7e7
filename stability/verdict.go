package stability

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"msgbench/results"
)

// judged is a cell with its verdict.
type judged struct {
	cellSamples
	verdict string
	reason  string
	attempt attempt // that decided; zero for a cell without samples
	known   capacity
	state   state  // of that attempt
	trend   string // Falling or Rising where its metric drifts; else empty
	trendP  float64
	finding
}

// finding is what one attempt of a cell shows.
type finding struct {
	verdict string // without regard to other attempts
	reason  string
	short   bool // fell short in a way that a rerun may cure (rule 5)
	valid   []*placed
	metric  []float64 // of the valid samples
	name    string    // of the metric
	core    core
}

// capacity is what is known of the max row of a fixed-rate cell.
type capacity struct {
	rate   float64 // in the unit of the target rate; 0: not known
	reason string  // why it is not known
}

// judgeAll draws the verdicts, those at max first: the others need their capacity.
func judgeAll(p results.Policy, groups []cellSamples) []judged {
	list := make([]judged, len(groups))
	settle(p, groups)
	atMax := make(map[string]*judged)
	for i, g := range groups {
		if g.cell.Rate == 0 {
			list[i] = judge(p, g, capacity{})
			atMax[g.key] = &list[i]
		}
	}
	for i, g := range groups {
		if g.cell.Rate != 0 {
			list[i] = judge(p, g, capacityOf(g.cell, atMax))
		}
	}
	markDrift(list)
	return list
}

// capacityOf finds the max row of the same cell. Only a publishable one tells a capacity.
func capacityOf(c results.Cell, atMax map[string]*judged) capacity {
	c.Rate = 0
	m := atMax[c.Key()]
	switch {
	case m == nil:
		return capacity{reason: "max not in the run"}
	case !results.Publishable(m.verdict):
		return capacity{reason: "max " + m.verdict}
	}
	return capacity{rate: median(delivered(c, m.valid))}
}

// judge draws the verdict of one cell from the attempt that decides (rules 5, 7 and 8).
func judge(p results.Policy, g cellSamples, known capacity) judged {
	j := judged{cellSamples: g, known: known}
	if len(g.attempts) == 0 {
		j.verdict, j.reason = results.Skipped, "not measured: the run was interrupted"
		return j
	}
	i := g.deciding()
	j.attempt = g.attempts[i]
	j.finding = find(p, g.cell, j.attempt, known)
	j.verdict, j.reason = j.finding.verdict, j.finding.reason
	if i > 0 {
		// Where all held before, it was measured again for the sake of another cell.
		if before := earlier(p, g, i, known); before != "" {
			switch j.verdict {
			case results.Stable:
				j.verdict, j.reason = results.Recovered, before
			case results.Unstable:
				j.reason = also(j.reason, before)
			}
		}
	}
	if last := g.attempts[len(g.attempts)-1]; i < len(g.attempts)-1 {
		j.reason = also(j.reason, fmt.Sprintf("rerun interrupted after %s samples", ofSamples(p, last.rounds())))
	}
	j.state = g.states[i]
	if p.Precision > 0 && j.state.ending != enough && len(j.valid) > 0 && j.verdict != results.Failed && j.verdict != results.Skipped {
		j.reason = also(j.reason, j.state.text(p))
	}
	return j
}

// find looks at one attempt alone: rules 2, 3, 6 and 7 in the precedence of rule 8.
func find(p results.Policy, c results.Cell, a attempt, known capacity) finding {
	f := finding{valid: a.of(results.OK)}
	f.metric, f.name = metric(c, f.valid)
	f.core = coreOf(f.metric, p)
	if s := a.of(results.Failed); len(s) > 0 {
		return f.is(results.Failed, reasonOf(s, len(a.samples)))
	}
	if s := a.of(results.Skipped); len(s) > 0 {
		return f.is(results.Skipped, oneLine(s[0].reason))
	}
	if f.core.n < max(p.MinCore, 1) {
		return f.is(results.Unstable, tooFew(p, f, a.of(results.Rejected)))
	}
	if c.Rate != 0 {
		got := median(delivered(c, f.valid))
		if got < p.MinDelivered*float64(c.Rate)*(1-slack) {
			return f.missed(p, c, got, known)
		}
	}
	if f.core.holds {
		return f.is(results.Stable, "")
	}
	f.short = true
	return f.is(results.Unstable, f.loose(p))
}

// missed is a fixed rate that was not delivered (rule 6).
func (f finding) missed(p results.Policy, c results.Cell, got float64, known capacity) finding {
	text := fmt.Sprintf("delivered %s of %s/s", rateText(got), rateText(float64(c.Rate)))
	switch {
	case known.rate == 0:
		text += ", " + known.reason
	default:
		text += fmt.Sprintf(", capacity %s/s", rateText(known.rate))
	}
	if known.rate == 0 || known.rate >= float64(c.Rate) {
		f.short = true
		return f.is(results.Unstable, "target missed: "+text)
	}
	// The sender is never idle now, so throughput says again how steady the cell is.
	f.metric, f.name = throughputs(f.valid), "throughput"
	f.core = coreOf(f.metric, p)
	if f.core.holds {
		return f.is(results.Oversubscribed, text)
	}
	f.short = true
	return f.is(results.Unstable, f.loose(p)+"; "+text)
}

func (f finding) is(verdict, reason string) finding {
	f.verdict, f.reason = verdict, reason
	return f
}

// earlier tells which of the attempts before the one that decides did not hold, so that nobody measures until he likes the
// result and has it look like the first one. It is empty where all held.
func earlier(p results.Policy, g cellSamples, deciding int, known capacity) string {
	missed, first := 0, ""
	for _, a := range g.attempts[:deciding] {
		if f := find(p, g.cell, a, known); !results.Publishable(f.verdict) {
			if missed++; missed == 1 {
				first = f.summary()
			}
		}
	}
	switch {
	case missed == 0:
		return ""
	case deciding == 1:
		return "first attempt: " + first
	}
	return fmt.Sprintf("%d of %d attempts before it did not hold, the first of these: %s", missed, deciding, first)
}

// also adds to a reason, which may be empty.
func also(reason, more string) string { return strings.TrimPrefix(reason+"; "+more, "; ") }

// ofSamples is "3 of 5", or "3" where nobody knows how many it takes.
func ofSamples(p results.Policy, n int) string {
	if p.Precision > 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d of %d", n, p.Samples)
}

// summary is the reason, or the verdict of a finding that needs none.
func (f finding) summary() string {
	if f.reason == "" {
		return f.verdict
	}
	return f.reason
}

// loose says why the core does not hold.
func (f finding) loose(p results.Policy) string {
	switch {
	case slices.ContainsFunc(f.metric, math.IsNaN):
		return "a sample has too few operations for a p50"
	case math.IsInf(f.core.ratio, 1):
		return "a zero in the core of " + f.name
	}
	return fmt.Sprintf("core %s", above(f.core.ratio, p.CoreRatio))
}

func tooFew(p results.Policy, f finding, rejected []*placed) string {
	text := fmt.Sprintf("too few samples: %d", len(f.valid))
	if f.core.n != len(f.valid) {
		text += fmt.Sprintf(", core %d", f.core.n)
	}
	text += fmt.Sprintf(", want %d", p.MinCore)
	if len(rejected) > 0 {
		text += fmt.Sprintf("; %d rejected: %s", len(rejected), oneLine(rejected[len(rejected)-1].reason))
	}
	return text
}

// reasonOf is the reason of the first of the failed samples, and how many more there are.
func reasonOf(failed []*placed, of int) string {
	text := oneLine(failed[0].reason)
	if len(failed) > 1 {
		text += fmt.Sprintf(" (%d of %d samples failed)", len(failed), of)
	}
	return text
}
