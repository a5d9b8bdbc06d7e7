package cli

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"msgbench/bench"
	"msgbench/results"
	"msgbench/stability"
)

// view is the picture of a run on a terminal: a few lines that are drawn over each other. What it prints above them stays.
type view struct {
	w      io.Writer
	size   func() (width, height int)
	color  bool
	policy results.Policy
	cells  map[string]*cellView
	counts map[string]int // of cells by their word, and of rejected samples

	title       string
	since       string // what the counts leave out
	at          bench.RoundInfo
	place, all  int
	left        time.Duration
	now, offers string
	narrow      map[string]bool  // cells that are as precise as they are to be, by key
	precise     string           // how many, and how precise the last one is
	machine     string           // what the last calibration told
	last        []results.Sample // without measurement; newest last, with what it gave as its reason
	drawn       []int            // widths of the lines that are on the screen
}

// cellView is what is known of a cell in the attempt that goes on.
type cellView struct {
	cell    results.Cell
	outlook stability.Outlook
	attempt int
	word    string
	ratio   float64
}

// The words of cells beside those of an outlook.
const (
	wordOpen  = "open"  // too few samples yet
	wordAgain = "again" // likewise, in a second attempt
)

// lastShown is how many results are remembered.
const lastShown = 12

// newView is nil where nothing can be drawn over: in a file, a pipe, or a terminal without cursor.
func newView(w io.Writer) *view {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &view{w: w, color: os.Getenv("NO_COLOR") == "", size: func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return 80, 24
		}
		return width, height
	}}
}

func (v *view) begin(c chosen, how string) {
	v.title, v.policy, v.cells, v.counts = c.suite.Name, c.policy, map[string]*cellView{}, map[string]int{}
	if how != howRun {
		v.since = " since the " + how
	}
	for _, cell := range c.cells {
		v.cells[cell.Key()] = &cellView{cell: cell, word: wordOpen, ratio: math.NaN()}
		v.counts[wordOpen]++
	}
}

func (v *view) round(r bench.RoundInfo) { v.at = r }

func (v *view) before(cell results.Cell, place, total int, left time.Duration) {
	v.now, v.place, v.all, v.left, v.offers = cell.Key(), place, total, left, ""
	v.draw()
}

func (v *view) step(cell results.Cell, offers string) {
	v.now, v.offers = cell.Key(), offers
	v.draw()
}

func (v *view) after(s results.Sample) {
	v.now = ""
	if s.Outcome == results.Calibrated {
		v.machine = calibrationText(s)
		v.draw()
		return
	}
	if c := v.cells[s.Cell]; c != nil && s.Step == nil {
		v.count(c, s)
		if s.Outcome != results.Rejected && s.Outcome != results.Disturbed { // which are tried again
			v.place++
		}
	}
	v.last = append(v.last, results.Sample{Cell: s.Cell, Reason: sampleText(s)})
	if len(v.last) > lastShown {
		v.last = v.last[1:]
	}
	if s.Outcome == results.Failed {
		v.say("failed: " + s.Cell + ": " + s.Reason)
		return
	}
	v.draw()
}

// width keeps how narrow the intervals of the cell are that after told of.
func (v *view) width(w stability.Width) {
	if len(v.last) == 0 {
		return
	}
	if v.narrow == nil {
		v.narrow = map[string]bool{}
	}
	cell := v.last[len(v.last)-1].Cell
	v.narrow[cell] = w.Within(v.policy.Precision)
	n := 0
	for _, yes := range v.narrow {
		if yes {
			n++
		}
	}
	v.precise = fmt.Sprintf("%d of %d within ±%g %% · last %s", n, len(v.cells), 100*v.policy.Precision, widthText(w))
	v.draw()
}

// count adds a sample to what is known of its cell.
func (v *view) count(c *cellView, s results.Sample) {
	if s.Attempt > c.attempt { // it counts from its beginning
		c.attempt, c.outlook = s.Attempt, stability.Outlook{}
	}
	v.counts[c.word]--
	switch s.Outcome {
	case results.OK:
		c.outlook.Add(c.cell, s.Measurement)
		c.word, c.ratio = c.outlook.Word(v.policy, c.cell)
	case results.Failed:
		c.word, c.ratio = results.Failed, math.NaN()
	case results.Rejected, results.Disturbed:
		v.counts[s.Outcome]++
	}
	switch {
	case c.word == stability.TooFew && c.attempt > 0:
		c.word = wordAgain
	case c.word == stability.TooFew:
		c.word = wordOpen
	}
	v.counts[c.word]++
}

// say prints a line above the picture, which is drawn again below it.
func (v *view) say(line string) {
	v.clear()
	fmt.Fprintln(v.w, line)
}

// clear takes the picture off the screen.
func (v *view) clear() {
	io.WriteString(v.w, strings.Repeat("\r\x1b[K\x1b[A", v.rows())+"\r\x1b[K")
	v.drawn = nil
}

// rows is how many rows the picture takes. A terminal that became narrower has wrapped its lines.
func (v *view) rows() int {
	width, _ := v.size()
	rows := 0
	for _, n := range v.drawn {
		rows += max((n+width-1)/width, 1)
	}
	return rows
}

// draw replaces the picture, with one call. Each line is wiped behind its new text: some terminals keep a copy of a screen
// that is wiped as a whole.
func (v *view) draw() {
	width, height := v.size()
	var b strings.Builder
	b.WriteString("\r")
	if n := v.rows(); n > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", n)
	}
	v.drawn = v.drawn[:0]
	for _, line := range v.lines(width, height) {
		// One column stays free: a terminal may wrap as soon as its last one is filled.
		line = text.Snip(line, max(width-1, 2), "…")
		v.drawn = append(v.drawn, text.StringWidthWithoutEscSequences(line))
		b.WriteString(line + "\x1b[K\n")
	}
	b.WriteString("\x1b[J") // what a longer picture has left
	io.WriteString(v.w, b.String())
}

// lines is the picture for a terminal of that size, the most important lines first.
func (v *view) lines(width, height int) []string {
	room := max(height-1, 1) // the last line is the cursor's
	head := fmt.Sprintf("%s · %s · sample %d of %d · %s left", v.title, v.roundText(), min(v.place+1, max(v.all, 1)), v.all, human(v.left))
	if v.offers != "" {
		head = v.title + " · " + v.offers
	}
	lines := []string{head, "now     " + cmp.Or(v.now, "…"), v.soFar()}
	if room > len(lines) {
		lines = slices.Insert(lines, 1, bar(v.place, max(v.all, 1), min(width-8, 60)))
	}
	if v.precise != "" {
		lines = append(lines, "precise "+v.precise)
	}
	if v.machine != "" {
		lines = append(lines, "machine "+v.machine)
	}
	if len(lines) >= room {
		return lines[:room]
	}
	// At most half of the screen, so that what was there before stays readable.
	show := min(len(v.last), max(min(room, height/2)-len(lines), 1))
	newest := v.last[len(v.last)-show:]
	keys := 0
	for _, s := range newest {
		keys = max(keys, len(s.Cell))
	}
	keys = min(keys, max(width-40, 10))
	said := map[string]bool{}
	for i := len(newest) - 1; i >= 0; i-- {
		s := newest[i]
		line := fmt.Sprintf("        %-*s  %s", keys, text.Snip(s.Cell, keys, "…"), s.Reason)
		if c := v.cells[s.Cell]; c != nil && !said[s.Cell] && !math.IsNaN(c.ratio) {
			line += v.paint(c.word, fmt.Sprintf("  [%s, core %.2f]", c.word, c.ratio))
		}
		said[s.Cell] = true
		lines = append(lines, line)
	}
	return lines
}

func (v *view) roundText() string {
	s := fmt.Sprintf("round %d of %d", v.at.Number+1, v.at.Of)
	if v.at.Attempt > 0 {
		s = fmt.Sprintf("%d cells again, %s", v.at.Cells, s)
	}
	return s
}

func bar(done, all, width int) string {
	width = max(width, 4)
	full := min(done*width/all, width)
	return strings.Repeat("█", full) + strings.Repeat("░", width-full) + fmt.Sprintf(" %3d %%", min(done*100/all, 100))
}

// soFar is how many cells stand how.
func (v *view) soFar() string {
	var parts []string
	for _, word := range []string{stability.Holds, stability.Loose, stability.Behind, results.Failed, wordOpen, wordAgain} {
		if v.counts[word] > 0 {
			parts = append(parts, v.paint(word, fmt.Sprintf("%d %s", v.counts[word], word)))
		}
	}
	for _, word := range []string{results.Rejected, results.Disturbed} {
		if n := v.counts[word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d samples %s", n, word))
		}
	}
	return "so far" + v.since + "  " + strings.Join(parts, " · ")
}

// paint colors what is about a word; NO_COLOR forbids it.
func (v *view) paint(word, s string) string {
	colors := map[string]text.Color{stability.Holds: text.FgGreen, stability.Loose: text.FgYellow, stability.Behind: text.FgYellow,
		results.Failed: text.FgRed}
	code, ok := colors[word]
	if !v.color || !ok {
		return s
	}
	return code.EscapeSeq() + s + text.Reset.EscapeSeq()
}
