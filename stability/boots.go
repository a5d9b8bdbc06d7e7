package stability

import (
	"fmt"
	"strings"
)

// bootsNote tells which samples of a row were taken before a machine of the run was booted, and which after it. The row joins
// them: whether the machine is the same as before is for the reader to see.
func bootsNote(j judged) []Note {
	var parts []string
	begun := 0
	for i := range j.valid {
		if i+1 < len(j.valid) && j.valid[i+1].boots == j.valid[begun].boots {
			continue
		}
		when := "round"
		if first, last := j.valid[begun].round, j.valid[i].round; first < last {
			when += fmt.Sprintf("s %d to %d", first, last)
		} else {
			when += fmt.Sprintf(" %d", first)
		}
		parts = append(parts, fmt.Sprintf("%s in %s", j.figuresOf(begun, i+1), when))
		begun = i + 1
	}
	if len(parts) < 2 {
		return nil
	}
	return []Note{{Kind: NoteBoots, Text: "joins samples from before and after a boot of the machine: " + strings.Join(parts, "; then "), At: places(j.valid)}}
}
