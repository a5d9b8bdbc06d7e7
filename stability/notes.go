package stability

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"msgbench/results"
)

// The kinds of notes, in the order in which a cell's notes stand.
const (
	NoteRerun      = "rerun"            // measured again as a whole: the figures of each attempt
	NoteFailed     = "failed"           // samples that failed, also those of an attempt that a retry replaced
	NoteIncomplete = "incomplete"       // decided on fewer samples than asked for
	NotePrecise    = "precision"        // how precise the row is, where the run was to be
	NoteImprecise  = "precision missed" // it is not as precise as it was to be, and why
	NoteBoots      = "boots"            // samples from before and after a boot of the machine stand in one row
	NoteDrift      = "drift"            // the metric changes over the rounds by more than noise would
	NoteOutlier    = "raw outlier"      // the core holds, all samples together would not
	NoteRejected   = "rejected"         // measured, but not what was asked for (schedule not kept, ramp), and measured again
	NoteDisturbed  = "disturbed"        // others had the CPUs for too long
	NoteCeiling    = "ceiling"          // what the search for the highest stable rate found
)

// Note is something that a reader of a row must know.
type Note struct {
	Kind string
	Cell string // key
	Text string // one line, with the figures
	At   []Place
}

// Place says where a sample stands in the journal.
type Place struct {
	Line    int // from 1, as given to Notes
	Round   int // from 0
	Attempt int // from 0
}

// mostPlaces is how many places of a note are told.
const mostPlaces = 20

// Where is "samples.jsonl lines 3, 9 (rounds 0, 2)".
func (n Note) Where() string {
	shown := n.At[:min(len(n.At), mostPlaces)]
	lines, rounds := make([]string, len(shown)), make([]string, len(shown))
	for i, p := range shown {
		lines[i], rounds[i] = fmt.Sprint(p.Line), fmt.Sprint(p.Round)
	}
	if more := len(n.At) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
		rounds = append(rounds, "…")
	}
	s := ""
	if len(n.At) != 1 {
		s = "s"
	}
	return fmt.Sprintf("%s line%s %s (round%s %s)", results.JournalFile, s, strings.Join(lines, ", "), s, strings.Join(rounds, ", "))
}

// allNotes gives the notes of a cell.
func allNotes(p results.Policy, j *judged) []Note {
	notes := slices.Concat(
		rerunNote(p, *j), failedNotes(*j), incompleteNote(p, *j), precisionNote(p, *j), bootsNote(*j), driftNote(*j),
		outlierNote(p, *j), rejectedNotes(*j), disturbedNotes(*j), ceilingNote(*j),
	)
	for i := range notes {
		notes[i].Cell = j.key
	}
	return notes
}

func places(samples []*placed) []Place {
	v := make([]Place, len(samples))
	for i, s := range samples {
		v[i] = Place{s.line, s.round, s.attempt}
	}
	return v
}

// rerunNote tells the figures of every attempt.
func rerunNote(p results.Policy, j judged) []Note {
	if len(j.attempts) < 2 {
		return nil
	}
	n := Note{Kind: NoteRerun}
	parts := make([]string, len(j.attempts))
	for i, a := range j.attempts {
		n.At = append(n.At, places(a.samples)...)
		f := find(p, j.cell, a, j.known)
		parts[i] = fmt.Sprintf("attempt %d %s", a.number, f.summary())
		if len(f.valid) > 0 {
			parts[i] += fmt.Sprintf(" (%s/s, core %s, %d samples)", rateText(median(throughputs(f.valid))), ratioText(f.core.ratio), len(f.valid))
		}
	}
	n.Text = fmt.Sprintf("%s; attempt %d decides: %s", strings.Join(parts, "; "), j.attempt.number, j.verdict)
	return []Note{n}
}

// failedNotes has a note for each reason.
func failedNotes(j judged) []Note {
	return grouped(j, results.Failed, NoteFailed, func(reason string) (string, string) { return reason, "" })
}

// rejectedNotes has a note for each kind of reason, which stands before its colon; the figures after it differ.
func rejectedNotes(j judged) []Note {
	return grouped(j, results.Rejected, NoteRejected, func(reason string) (string, string) {
		kind, figures, _ := strings.Cut(reason, ": ")
		return kind, figures
	})
}

// most is how many figures a note tells.
const most = 5

// grouped makes a note of the samples of one outcome, in all attempts, whose reasons are of one kind.
func grouped(j judged, outcome, note string, split func(reason string) (kind, figures string)) []Note {
	var kinds []string
	figures := map[string][]string{}
	at := map[string][]*placed{}
	for _, a := range j.attempts {
		for _, s := range a.of(outcome) {
			kind, f := split(oneLine(s.reason))
			if len(at[kind]) == 0 {
				kinds = append(kinds, kind)
			}
			at[kind] = append(at[kind], s)
			if f != "" {
				figures[kind] = append(figures[kind], f)
			}
		}
	}
	notes := make([]Note, len(kinds))
	for i, kind := range kinds {
		text, f := kind, figures[kind]
		if n := len(f); n > most {
			f = append(f[:most:most], fmt.Sprintf("and %d more", n-most))
		}
		if len(f) > 0 {
			text += ": " + strings.Join(f, "; ")
		}
		notes[i] = Note{Kind: note, Text: text, At: places(at[kind])}
	}
	return notes
}

// incompleteNote tells that a row rests on fewer samples than the policy asks for.
func incompleteNote(p results.Policy, j judged) []Note {
	missing := len(j.valid) < p.Samples
	if p.Precision > 0 {
		missing = j.state.ending == unfinished
	}
	if j.verdict == results.Failed || j.verdict == results.Skipped || !missing {
		return nil
	}
	return []Note{{Kind: NoteIncomplete, Text: ofSamples(p, len(j.valid)) + " samples", At: places(j.valid)}}
}

// precisionNote tells how precise a row of a run with a precision is.
func precisionNote(p results.Policy, j judged) []Note {
	if p.Precision == 0 || len(j.valid) == 0 || j.verdict == results.Failed || j.verdict == results.Skipped {
		return nil
	}
	n := Note{Kind: NotePrecise, Text: j.state.text(p)}
	if j.state.ending != enough {
		n.Kind = NoteImprecise
	}
	return []Note{n}
}

// driftNote tells what changes, from when to when, and how probable that is without a drift.
func driftNote(j judged) []Note {
	if j.trend == "" {
		return nil
	}
	rounds := make([]int, len(j.valid))
	for i, s := range j.valid {
		rounds[i] = s.round
	}
	verb := map[string]string{results.Falling: "falls", results.Rising: "rises"}[j.trend]
	text := fmt.Sprintf("%s %s by %s from round %d to round %d (p %.2g; of the cells marked so, about 1 in 20 does not drift): %s", j.name, verb,
		percent(math.Abs(drift(rounds, j.metric))/100), slices.Min(rounds), slices.Max(rounds), j.trendP, j.figures())
	return []Note{{Kind: NoteDrift, Text: text}}
}

// outlierNote is rule 4.
func outlierNote(p results.Policy, j judged) []Note {
	if !j.core.holds || !results.Publishable(j.verdict) || within(j.core.rawRatio, p.CoreRatio) {
		return nil
	}
	return []Note{{
		Kind: NoteOutlier,
		Text: fmt.Sprintf("raw max/min of %s %s, core %s: %s", j.name, above(j.core.rawRatio, p.CoreRatio), ratioText(j.core.ratio), j.figures()),
		At:   places(j.valid),
	}}
}

// figures are the values of the metric, in the order of the rounds.
func (f finding) figures() string { return f.figuresOf(0, len(f.metric)) }

// figuresOf are those of the samples from one to below another.
func (f finding) figuresOf(from, to int) string {
	v := make([]string, to-from)
	for i, x := range f.metric[from:to] {
		if f.name == "p50" {
			v[i] = short(x/1e3) + " µs"
		} else {
			v[i] = rateText(x) + "/s"
		}
	}
	return strings.Join(v, ", ")
}
