package stability

import (
	"fmt"

	"msgbench/results"
)

// disturbances fills the columns of what others took of the machine. They are empty where no sample tells.
func disturbances(row *results.Row, samples []sample) {
	var steal, foreign, share int64
	kept := 0
	for _, s := range samples {
		i := s.Interference
		if i == nil {
			continue
		}
		steal, foreign, share = steal+i.StealNs, foreign+i.ForeignNs, share+i.ShareNs
		if i.Kept {
			kept++
		}
	}
	if share == 0 {
		return
	}
	row.StealPct, row.ForeignPct = results.N(100*float64(steal)/float64(share)), results.N(100*float64(foreign)/float64(share))
	row.DisturbedKept = results.N(float64(kept))
}

// disturbedNotes tell which samples were disturbed: those that were measured again, and those that count since the run's
// budget was used up.
func disturbedNotes(j judged) []Note {
	var again, kept []*placed
	for _, a := range j.attempts {
		again = append(again, a.of(results.Disturbed)...)
	}
	for _, s := range j.valid {
		if s.kept {
			kept = append(kept, s)
		}
	}
	var notes []Note
	for _, k := range []struct {
		samples []*placed
		text    string
	}{
		{again, "measured again"},
		{kept, "not measured again, since the run's budget for that was used up"},
	} {
		if len(k.samples) == 0 {
			continue
		}
		var steal, foreign float64
		for _, s := range k.samples {
			i := results.Interference{StealNs: s.stealNs, ForeignNs: s.foreignNs, ShareNs: s.shareNs}
			steal, foreign = max(steal, i.Steal()), max(foreign, i.Foreign())
		}
		notes = append(notes, Note{Kind: NoteDisturbed, At: places(k.samples),
			Text: fmt.Sprintf("%d disturbed (steal up to %.1f %%, other processes up to %.1f %% of the CPUs' time), %s",
				len(k.samples), 100*steal, 100*foreign, k.text)})
	}
	return notes
}
