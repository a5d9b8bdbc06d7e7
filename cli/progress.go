package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"msgbench/bench"
	"msgbench/pinning"
	"msgbench/results"
)

// progress shows on standard error how a run goes: one line that is drawn again on a terminal, a line a sample elsewhere.
// It writes between samples only, never inside a window.
type progress struct {
	w     io.Writer
	quiet bool
	live  bool
	last  string // what the last sample gave
	from  string
}

var _ bench.Progress = (*progress)(nil)

func newProgress(w io.Writer, quiet bool) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, quiet: quiet, live: ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"}
}

// begin says what will be measured and how long that will take.
func (p *progress) begin(c chosen, dir string) {
	if p.quiet {
		return
	}
	t := bench.RunTime(c.policy, c.cells)
	fmt.Fprintf(p.w, "suite %s: %d cells × %d samples, about %s", c.suite.Name, len(c.cells), c.policy.Samples, human(t))
	if c.policy.Reruns > 0 && c.policy.Samples >= 3 {
		fmt.Fprintf(p.w, "; reruns of cells that fall short may add up to %s", human(t))
	}
	if t := bench.CeilingTime(c.policy, c.cells); t > 0 {
		fmt.Fprintf(p.w, "; the search for ceilings takes about %s", human(t))
	}
	fmt.Fprintf(p.w, "\nseed %d, %s, into %s\n", c.seed, placementText(c), dir)
}

// placementText says where the processes of this run will be.
func placementText(c chosen) string {
	placed, err := c.plan.Place(c.topology, []string{results.Client, results.Server})
	if err != nil || len(placed[results.Client]) == 0 {
		return "not pinned"
	}
	s := fmt.Sprintf("client on CPU %s, server on CPU %s", pinning.FormatList(placed[results.Client]),
		pinning.FormatList(placed[results.Server]))
	if pinning.Shared(placed) != "" {
		s += " (shared)"
	}
	return s
}

func (p *progress) Before(cell results.Cell, place, total int, left time.Duration) {
	if p.quiet {
		return
	}
	head := fmt.Sprintf("[%*d/%d] %s left", len(fmt.Sprint(total)), place+1, total, human(left))
	if p.live {
		// Cut to the width, since a line that wraps can't be drawn over.
		p.draw(fmt.Sprintf("%s  %s%s", head, cell.Key(), p.last))
	}
	p.from = head
}

func (p *progress) After(s results.Sample) {
	if p.quiet {
		return
	}
	if s.Outcome == results.Calibrated {
		p.calibrated(s)
		return
	}
	text := "  → " + s.Outcome
	if m := s.Measurement; m != nil {
		text = fmt.Sprintf("  → %.0f/s", m.Throughput())
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
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	if p.live {
		p.last = "  last: " + s.Cell + text
		if s.Outcome == results.Failed {
			p.draw("")
			fmt.Fprintln(p.w, "failed: "+s.Cell+": "+s.Reason)
		}
		return
	}
	fmt.Fprintf(p.w, "%s  %s%s\n", p.from, s.Cell, text)
}

// calibrated tells what the machine did at the start of a round.
func (p *progress) calibrated(s results.Sample) {
	text := fmt.Sprintf("round %d: cache line %.0f ns, pipe %.1f µs", s.Round+1, s.Calibration.LineNs, s.Calibration.PipeNs/1e3)
	if s.Reason != "" {
		text = fmt.Sprintf("round %d: no calibration: %s", s.Round+1, s.Reason)
	}
	if p.live {
		p.draw(text)
		return
	}
	fmt.Fprintln(p.w, text)
}

func (p *progress) Rerun(keys []string, takes time.Duration) {
	if p.quiet {
		return
	}
	if p.live {
		p.draw("")
	}
	fmt.Fprintf(p.w, "%d cells fell short and are measured again, about %s\n", len(keys), human(takes))
}

// Step says which rate the search for a ceiling tries next.
func (p *progress) Step(cell results.Cell, place, rate int) {
	if p.quiet {
		return
	}
	p.from = fmt.Sprintf("[ceiling, try %d] %d/s offered", place+1, rate)
	if p.live {
		p.draw(fmt.Sprintf("%s  %s%s", p.from, cell.Key(), p.last))
	}
}

// end clears the live line.
func (p *progress) end() {
	if p.live && !p.quiet {
		p.draw("")
	}
}

// draw replaces the live line.
func (p *progress) draw(s string) {
	width := 80
	if f, ok := p.w.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			width = w
		}
	}
	r := []rune(s)
	if len(r) > width-1 {
		r = append(r[:width-2], '…')
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", string(r))
}

// human is a duration as 1m32s, rounded to seconds.
func human(d time.Duration) string { return max(d, 0).Round(time.Second).String() }
