package compare

import (
	"fmt"
	"strings"

	"msgbench/report/source"
	"msgbench/stability"
)

// Calibrated compares one of the two times that both runs measured at the start of each round, without any transport. Where
// the machine changed from one run to the other, this does.
type Calibrated struct {
	Name     string
	Old, New float64 // medians in ns
	NOld     int     // rounds
	NNew     int
	Tested   bool // Ratio and what follows is there
	Ratio    float64
	Lo, Hi   float64
	Level    float64
	Moved    bool // the whole interval is beyond the margin
}

// calibrate compares the calibrations of two runs, or says why it does not. The rule is that of cells without their test: the
// median of the ratios of all pairs of rounds with its interval by ranks; moved where none of the interval is within the margin.
func (r *Result) calibrate(old, new *source.Set) {
	a, b := old.Calibrations, new.Calibrations
	switch {
	case len(a) == 0 && len(b) == 0:
		return
	case len(a) == 0:
		r.Uncalibrated = "old has no calibration"
		return
	case len(b) == 0:
		r.Uncalibrated = "new has no calibration"
		return
	case len(a) > 1 || len(b) > 1 || a[0].Of != b[0].Of:
		r.Uncalibrated = "calibrations are not compared: a run was merged from shards"
		return
	case old.Run.Pin != new.Run.Pin:
		r.Uncalibrated = fmt.Sprintf("calibrations are not compared: the placement differs: old %s, new %s", old.Run.Pin, new.Run.Pin)
		return
	}
	if x, y := old.Run.Policy, new.Run.Policy; x.RT != y.RT || x.Mlock != y.Mlock {
		r.Uncalibrated = "calibrations are not compared: real-time priority or locked memory differ"
		return
	}
	for _, o := range a[0].Series {
		for _, n := range b[0].Series {
			if o.Name == n.Name {
				r.Calibrations = append(r.Calibrations, calibrated(o, n, r.Margin))
			}
		}
	}
}

func calibrated(o, n stability.Series, margin float64) Calibrated {
	c := Calibrated{Name: o.Name, Old: o.Median(), New: n.Median(), NOld: len(o.Ns), NNew: len(n.Ns)}
	c.Ratio, c.Lo, c.Hi, c.Level, c.Tested = ratioInterval(o.Ns, n.Ns)
	c.Moved = c.Tested && (c.Lo > 1+margin || c.Hi < 1-margin)
	return c
}

// Moved says that the machine changed between the runs, and by how much; empty where that does not show.
func (r *Result) Moved() string {
	var parts []string
	for _, c := range r.Calibrations {
		if c.Moved {
			parts = append(parts, fmt.Sprintf("%s %s (%s … %s)", c.Name, change(c.Ratio), change(c.Lo), change(c.Hi)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "the machine changed between the runs: calibration of " + strings.Join(parts, ", ")
}

// text is the comparison of one calibration for people.
func (c Calibrated) text() string {
	s := fmt.Sprintf("calibration of %s: old %s, new %s", c.Name, stability.TimeText(c.Old), stability.TimeText(c.New))
	switch {
	case !c.Tested:
		return s + fmt.Sprintf(": too few rounds to compare: %d and %d, want at least 4 and 4", c.NOld, c.NNew)
	case c.Moved:
		return s + fmt.Sprintf(": moved by %s (%s … %s): no cell can be told better or worse", change(c.Ratio), change(c.Lo), change(c.Hi))
	}
	return s + fmt.Sprintf(": %s (%s … %s)", change(c.Ratio), change(c.Lo), change(c.Hi))
}

// calibrationLines are what is said above the cells.
func (r *Result) calibrationLines() []string {
	var lines []string
	for _, c := range r.Calibrations {
		lines = append(lines, c.text())
	}
	if r.Uncalibrated != "" {
		lines = append(lines, r.Uncalibrated)
	}
	return lines
}
