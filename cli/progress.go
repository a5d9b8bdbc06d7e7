package cli

import (
	"fmt"
	"io"
	"time"

	"msgbench/bench"
	"msgbench/results"
	"msgbench/stability"
)

// progress shows on standard error how a run goes: a view that is drawn again on a terminal, a line a sample elsewhere; and
// it writes the events. All of it happens in calls of the run, between samples: there is no goroutine or timer that could
// write inside a window.
type progress struct {
	w     io.Writer
	quiet bool
	view  *view // nil: lines
	from  string
	ran   readBack
	*events
}

var _ bench.Progress = (*progress)(nil)

func newProgress(w io.Writer, quiet bool, e *events) *progress {
	p := &progress{w: w, quiet: quiet, events: e, ran: readBack{}}
	if !quiet {
		p.view = newView(w)
	}
	return p
}

// begin comes before anything is measured. how is howRun, howResume or howRetry.
func (p *progress) begin(c chosen, run results.Run, dir, how string) {
	p.events.begin(c, run, dir, how, bench.RunTime(c.policy, c.runnable()))
	if p.view != nil {
		p.view.begin(c, how)
	}
}

// announce says what will be measured and how long that will take.
func announce(w io.Writer, c chosen, dir string) {
	left := ""
	if c.left > 0 {
		left = fmt.Sprintf("; %d cells of the suite can't be both %s and %s", c.left, c.ab.A, c.ab.B)
	}
	fmt.Fprintf(w, "%s%s\nseed %d, %s, into %s\n", makePlan(c).summary(), left, c.seed, placementText(c), dir)
	for _, p := range c.placed {
		for _, n := range p.notes {
			fmt.Fprintf(w, "placement: %s\n", n)
		}
	}
}

func (p *progress) Round(r bench.RoundInfo) {
	p.events.round(r)
	if p.view != nil {
		p.view.round(r)
	}
}

func (p *progress) Before(cell results.Cell, place, total int, left time.Duration) {
	p.events.before(cell, place, total, left)
	p.from = fmt.Sprintf("[%*d/%d] %s left", len(fmt.Sprint(total)), place+1, total, human(left))
	if p.view != nil {
		p.view.before(cell, place, total, left)
	}
}

func (p *progress) After(s results.Sample) {
	if s.Outcome == results.Calibrated {
		p.events.calibration(s)
	} else {
		p.events.sample(s)
		p.ran.add(s)
	}
	switch {
	case p.quiet:
	case p.view != nil:
		p.view.after(s)
	case s.Outcome == results.Calibrated:
		fmt.Fprintln(p.w, calibrationText(s))
	default:
		fmt.Fprintf(p.w, "%s  %s  → %s\n", p.from, s.Cell, sampleText(s))
	}
}

// sampleText is what one sample gave.
func sampleText(s results.Sample) string {
	text := s.Outcome
	if m := s.Measurement; m != nil {
		text = fmt.Sprintf("%.0f/s", m.Throughput())
		if m.Latency != nil {
			if v, ok := m.Latency.Quantile(0.5); ok {
				text += fmt.Sprintf(", p50 %.2f µs", float64(v)/1e3)
			}
		}
		switch {
		case s.Step != nil && s.Step.Holds:
			text += ", holds"
		case s.Step != nil:
			text += ", does not hold"
		case s.Outcome != results.OK:
			text += ", " + s.Outcome
		}
	}
	if i := s.Interference; i != nil && i.Kept && s.Outcome == results.OK {
		text += fmt.Sprintf(", though disturbed (steal %.1f %%, other processes %.1f %%)", 100*i.Steal(), 100*i.Foreign())
	}
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	return text
}

// calibrationText is what the machine did at the start of a round, in brackets as a ratio to the run's median until then.
func calibrationText(s results.Sample) string {
	if s.Reason != "" || s.Calibration == nil {
		return fmt.Sprintf("round %d: no calibration: %s", s.Round+1, s.Reason)
	}
	c := s.Calibration
	return fmt.Sprintf("round %d: cache line %s (%.2f), pipe %s (%.2f)", s.Round+1, stability.TimeText(c.LineNs), c.LineIndex,
		stability.TimeText(c.PipeNs), c.PipeIndex)
}

// Width says how narrow the intervals of the cell are now that After told of.
func (p *progress) Width(w stability.Width) {
	if w.Samples < 5 { // there are none
		return
	}
	p.events.width(w)
	switch {
	case p.quiet:
	case p.view != nil:
		p.view.width(w)
	default:
		fmt.Fprintf(p.w, "%*s  %s\n", len(p.from), "", widthText(w))
	}
}

func widthText(w stability.Width) string { return fmt.Sprintf("by %d samples: %s", w.Samples, w) }

// More says that the cells which are not precise enough are measured on.
func (p *progress) More(keys []string, rounds int, takes time.Duration) {
	p.events.more(keys, rounds, takes)
	p.say(fmt.Sprintf("%s not precise enough after %d rounds: more samples, about %s", cellsAre(len(keys)), rounds, human(takes)))
}

func cellsAre(n int) string {
	if n == 1 {
		return "1 cell is"
	}
	return fmt.Sprintf("%d cells are", n)
}

func (p *progress) Rerun(keys []string, takes time.Duration) {
	p.events.rerun(keys, takes)
	what := fmt.Sprintf("%d cells fell short and are measured again", len(keys))
	if len(keys) == 1 {
		what = "1 cell fell short and is measured again"
	}
	p.say(fmt.Sprintf("%s, about %s", what, human(takes)))
}

// Step says which rate the search for a ceiling tries next.
func (p *progress) Step(cell results.Cell, place, rate int) {
	p.events.step(cell, place, rate)
	p.from = fmt.Sprintf("[ceiling, try %d] %d/s offered", place+1, rate)
	if p.view != nil {
		p.view.step(cell, p.from)
	}
}

// say prints a line that stays.
func (p *progress) say(line string) {
	switch {
	case p.quiet:
	case p.view != nil:
		p.view.say(line)
	default:
		fmt.Fprintln(p.w, line)
	}
}

// end takes the view away; the table follows.
func (p *progress) end() {
	if p.view != nil {
		p.view.clear()
	}
	if len(p.ran) > 0 && !p.quiet {
		fmt.Fprintf(p.w, "read back from the kernel: %s\n", p.ran)
	}
}

// human is a duration as 1m32s, rounded to seconds.
func human(d time.Duration) string { return max(d, 0).Round(time.Second).String() }
