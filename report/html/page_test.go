package html

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"msgbench/report"
	"msgbench/report/charts"
	"msgbench/report/internal/example"
	"msgbench/report/internal/golden"
	"msgbench/results"
	"msgbench/stability"
)

// TestGolden is the page of six rows without its style, script and charts, which have tests of their own.
func TestGolden(t *testing.T) {
	table, strips := example.Table()
	var rows []results.Row
	for _, r := range table.Rows {
		if r.Payload.Or(0) == 64 && r.TargetRPS == "max" && r.Client == "go" && r.Server == "go" {
			rows = append(rows, r)
		}
	}
	d := report.Document{Table: results.Table{Facts: table.Facts, Rows: rows}, Strips: strips, Name: "run-1", Cut: 17,
		Notes: []stability.Note{{Kind: stability.NoteRerun, Cell: rows[0].Cell, Text: "attempt 0 <core> 1.41",
			At: []stability.Place{{Line: 3, Round: 1}}}}}
	d.Calibrations = []stability.Calibration{{Of: "shard 1/2 on <desk>", Series: []stability.Series{
		{Name: "cache line", Rounds: []int{0, 1, 2}, Ns: []float64{101.2, 99, 150}}, {Name: "pipe", Rounds: []int{0, 1, 2}, Ns: []float64{5210, 5300, 5190}},
	}, Failed: []string{"round 4: <killed>"}}}
	data, err := Page(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Page(d)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("not the same bytes the second time, %v", err)
	}
	got := string(data)
	for _, part := range []string{"style", "script", "svg"} {
		got = regexp.MustCompile(`(?s)(<`+part+`)\b.*?</`+part+`>`).ReplaceAllString(got, "$1/>")
	}
	got = regexp.MustCompile(`sha256-[\w+/=&#;]+`).ReplaceAllString(got, "sha256-…")
	golden.Check(t, "page.html", got)
}

// TestMarkup: every text of a document, in every place. The browser test asks a browser besides.
func TestMarkup(t *testing.T) {
	d := document()
	spoil(&d)
	d.Notes = []stability.Note{{Kind: d.Name, Cell: d.Name, Text: d.Name}}
	d.References = []results.Table{{Rows: []results.Row{{Cell: d.Name, Source: d.Name, Verdict: results.Imported, Machine: d.Name}}}}
	data, err := Page(d, d)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts, want ours only", n)
	}
	if bad := regexp.MustCompile(`<img|onerror="|</style></svg>|\x{202e}|\x00|<td[^>]*>[=+@-][^<\n]`).FindString(page); bad != "" {
		t.Errorf("%q in the page", bad)
	}
	if strings.Contains(page, "http://") && strings.Count(page, "http://") != strings.Count(page, `xmlns="http://www.w3.org/2000/svg"`) {
		t.Error("the page names an address beside that of SVG")
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"shm": "shm", "-": "-", "=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\t=1": "'=1", " a\nb\u202ec\u2028d\u00a0": "a b c d",
		"\u200b=1": "'=1", "µs – é": "µs – é",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestMachines: rows of two machines, sources or runs never share a table.
func TestMachines(t *testing.T) {
	table, _ := example.Table()
	a, b := table.Rows[0], table.Rows[0]
	b.Machine = "laptop"
	c := b
	c.Verdict, c.Source = results.Imported, "page of 2026"
	data, err := Page(report.Document{Name: "one", Table: results.Table{Rows: []results.Row{a, b}},
		References: []results.Table{{Rows: []results.Row{c}}}}, report.Document{Name: "two", Table: results.Table{Rows: []results.Row{a}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), `<table class="rows">`); n != 4 {
		t.Errorf("%d tables, want 4", n)
	}
}

// TestLarge: a page of 10,000 rows holds the rows of no table twice. TestSpeed makes one of 100,000, without the race detector.
func TestLarge(t *testing.T) {
	table := example.Many(10_000)
	d := report.Document{Table: table}
	data, err := Page(d)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("<tr class=\"v-")); n != 10_000 {
		t.Errorf("%d rows", n)
	}
	if n := len(charts.Of(charts.Split(d.AllRows()), nil)); n == 0 {
		t.Error("no chart")
	}
}
