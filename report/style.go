package report

import (
	"fmt"
	"strings"
)

// Style is one layout of a report in markdown.
type Style struct {
	Name    string
	Summary string
	Render  func(Document) string
}

// Styles are all layouts of one run, the default first.
var Styles = []Style{
	{"run", "how it was measured, a ranked table for each scenario, payload and rate, and the notes", Markdown},
	{"matrix", "validation by key set, then a table of client and server pairs for each scenario and rate", Matrix},
	{"comparison", "what is inside the window, tables by payload with winners, differences, and the claims the data supports", Comparison},
	{"ranking", "one table over all transports", RankingPage},
	{"post", "a short block to paste into an issue or a forum", Post},
}

// FindStyle finds a style by its name; its error names them all.
func FindStyle(name string) (Style, error) {
	for _, s := range Styles {
		if s.Name == name {
			return s, nil
		}
	}
	return Style{}, fmt.Errorf("unknown style %q (want %s)", name, strings.Join(StyleNames(), ", "))
}

// StyleNames are the names of all styles.
func StyleNames() []string {
	names := make([]string, len(Styles))
	for i, s := range Styles {
		names[i] = s.Name
	}
	return names
}
