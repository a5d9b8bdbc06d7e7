package report

import (
	"strings"
	"testing"

	"msgbench/results"
)

// TestForeignRows: CPU of whole processes is marked in every table, and a loop that pauses has a table of its own.
func TestForeignRows(t *testing.T) {
	ours, theirs := measured("ping-pong", "broker", "go", "go", 64, 0, 20, 50e3), measured("ping-pong", "areg", "areg", "areg", 64, 0, 15, 60e3)
	theirs.Options = "areg-sdk=1.9 Release;" + results.ProcessCPU
	d := Document{Table: results.Table{Rows: []results.Row{ours, theirs}}}
	for name, text := range map[string]string{"terminal": Ranking(d.Rows), "markdown": Markdown(d), "platforms": Platforms([]Document{d})} {
		// 139.5 % in all, with no decimals or with one.
		if marked, all := strings.Count(text, "≤ 1"), strings.Count(text, " 140 ")+strings.Count(text, " 139.5 "); marked != 1 || all != 2 {
			t.Errorf("%s: the CPU of one row of two is an upper bound, %d of %d are marked:\n%s", name, marked, all, text)
		}
		if name != "platforms" && !strings.Contains(strings.ToLower(text), "of whole processes") && !strings.Contains(text, "of the whole processes") {
			t.Errorf("%s does not explain ≤:\n%s", name, text)
		}
	}
	if n := len(groups(d.Rows)); n != 1 {
		t.Errorf("%d tables for two rows of one loop", n)
	}
	d.Rows[1].Loop = results.Pausing
	if n := len(groups(d.Rows)); n != 2 {
		t.Errorf("%d tables for two loops", n)
	}
	for name, text := range map[string]string{"markdown": Markdown(d), "comparison": Comparison(d)} {
		if !strings.Contains(text, "is no maximum") {
			t.Errorf("%s does not explain the pausing loop:\n%s", name, text)
		}
	}
	if text := RankingPage(d); strings.Contains(text, "| 1 | areg") {
		t.Errorf("a pausing loop is ranked against a closed one:\n%s", text)
	}
}
