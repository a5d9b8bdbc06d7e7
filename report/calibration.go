package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"msgbench/results"
	"msgbench/stability"
)

// CalibrationHead are the columns of the tables of calibrations.
var CalibrationHead = []string{"round trip", "median", "range", "by round"}

// CalibrationAbout says what calibrations are.
const CalibrationAbout = "At the start of each round two processes on the CPUs of client and server pass numbers to and fro, over " +
	"cache lines on which both spin and over pipes in which both block. No transport has a part in it: where these times change, the machine did. " +
	"Each round stands as a ratio to the median, above 1 where the machine was slower."

// CalibrationRows are the lines of one table: each of two times with its median, its range as ratios to it, and its rounds.
func CalibrationRows(c stability.Calibration) [][]string {
	var rows [][]string
	for _, s := range c.Series {
		index := s.Index()
		text := make([]string, len(index))
		for i, v := range index {
			text[i] = fmt.Sprintf("%d: %s", s.Rounds[i]+1, ratioText(v)) // a round that was resumed stands there twice
		}
		rows = append(rows, []string{s.Name, s.Text(), ratioText(slices.Min(index)) + " – " + ratioText(slices.Max(index)), strings.Join(text, ", ")})
	}
	return rows
}

// CalibrationSays is what else is to be said: where the machine changed under the run by more than its policy lets samples
// differ, and where a calibration failed.
func CalibrationSays(c stability.Calibration, run *results.Run) []string {
	limit := results.DefaultPolicy().CoreRatio
	if run != nil {
		limit = run.Policy.CoreRatio
	}
	var says []string
	if run != nil && run.Server != nil {
		says = append(says, "of the client's host: that of the server is not calibrated")
	}
	for _, s := range c.Series {
		if text := s.Changed(limit); text != "" {
			says = append(says, text)
		}
	}
	for _, r := range c.Booted {
		says = append(says, fmt.Sprintf("a machine of the run was booted anew before round %d", r+1))
	}
	for _, f := range c.Failed {
		says = append(says, "no calibration: "+f)
	}
	return says
}

// ratioText is a ratio: with two decimals, where it is not so far off that they say nothing.
func ratioText(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func calibrations(b *strings.Builder, d Document) {
	if len(d.Calibrations) == 0 {
		return
	}
	b.WriteString("## Calibration\n\n" + CalibrationAbout + "\n\n")
	for _, c := range d.Calibrations {
		if c.Of != "" {
			fmt.Fprintf(b, "### %s\n\n", cell(c.Of))
		}
		if rows := CalibrationRows(c); len(rows) > 0 {
			for _, r := range rows {
				for i := range r {
					r[i] = cell(r[i])
				}
			}
			markdownTable(b, CalibrationHead, 4, rows)
		}
		says := CalibrationSays(c, d.Run)
		for _, s := range says {
			fmt.Fprintf(b, "- %s\n", cell(s))
		}
		if len(says) > 0 {
			b.WriteString("\n")
		}
	}
}
