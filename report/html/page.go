// Package html makes the report page: one file with everything in it, for people who would rather look.
package html

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode"

	"msgbench/report"
	"msgbench/report/charts"
	"msgbench/results"
)

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// Page is the report of one run or of several, each with tables of its own: nothing is ranked across runs or machines.
// The same documents give the same bytes.
func Page(docs ...report.Document) ([]byte, error) {
	style := pageStyle + charts.CSS()
	p := page{
		Title: "msgbench results", Style: template.CSS(style), Script: template.JS(pageScript),
		// Nothing may be fetched, and nothing but our own script may run, should text of a CSV ever pass for markup.
		Policy: fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
			hash(style), hash(pageScript)),
	}
	for i, d := range docs {
		p.Runs = append(p.Runs, newRun(i+1, d, len(docs) > 1))
	}
	if len(docs) == 1 && docs[0].Name != "" {
		p.Title = "msgbench results: " + clean(docs[0].Name)
	}
	for _, r := range p.Runs {
		for _, t := range r.Sections {
			p.Count += t.Count
			p.Contents++
		}
	}
	p.Filters = filters(docs)
	var b bytes.Buffer
	// What is large goes past the template, which would copy it twice. A template writes what it has before it calls a function.
	large := func(h template.HTML) template.HTML {
		b.WriteString(string(h))
		return ""
	}
	t, err := template.New("page").Funcs(template.FuncMap{"large": large}).Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	size := 64 << 10
	for _, r := range p.Runs {
		for _, s := range r.Sections {
			size += len(s.Rows)
			for _, c := range slices.Concat(s.Late, s.Charts, s.Tail) {
				size += len(c)
			}
		}
	}
	b.Grow(size) // doubling a buffer of tens of MB takes longer than filling it
	if err := t.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// page is what the template shows.
type page struct {
	Title    string
	Style    template.CSS
	Script   template.JS
	Policy   string
	Runs     []run
	Filters  []filter
	Count    int // rows
	Contents int // sections
}

type run struct {
	ID           int
	Name         string // where there are several
	Facts        []results.Fact
	Summary      []verdict
	Count        int // rows
	Sections     []section
	Calibrations []calibration
	Notes        []note
	Cut          int
}

type verdict struct {
	Name  string
	Count int
}

// calibration is what the machine did over the rounds.
type calibration struct {
	About, Of string
	Head      []string
	Rows      [][]string
	Says      []string
}

type note struct{ Cell, Kind, Text, Where string }

// section is one facet: its charts and its table.
type section struct {
	ID, Title, Where string
	Charts, Tail     []template.HTML // Tail: those that are many, folded
	Head             []column
	Rows             template.HTML
	Late             []template.HTML // those beyond firstRows
	Count            int             // of rows
}

func newRun(id int, d report.Document, several bool) run {
	r := run{ID: id, Count: len(d.Rows), Cut: d.Cut}
	if several {
		r.Name = clean(d.Name)
	}
	for _, f := range d.Facts {
		r.Facts = append(r.Facts, results.Fact{Key: clean(f.Key), Value: clean(f.Value)})
	}
	n := map[string]int{}
	for i := range d.Rows {
		n[d.Rows[i].Verdict]++
	}
	for _, v := range []string{results.Stable, results.Recovered, results.Oversubscribed, results.Unstable, results.Failed,
		results.Skipped, results.Imported} {
		if n[v] > 0 {
			r.Summary = append(r.Summary, verdict{v, n[v]})
		}
	}
	for _, c := range d.Calibrations {
		x := calibration{About: report.CalibrationAbout, Of: clean(c.Of), Head: report.CalibrationHead, Rows: report.CalibrationRows(c)}
		for _, s := range report.CalibrationSays(c, d.Run) {
			x.Says = append(x.Says, clean(s))
		}
		r.Calibrations = append(r.Calibrations, x)
	}
	for _, x := range d.Notes {
		t := note{Cell: clean(x.Cell), Kind: clean(x.Kind), Text: clean(x.Text)}
		if len(x.At) > 0 {
			t.Where = x.Where()
		}
		r.Notes = append(r.Notes, t)
	}
	r.Sections = sections(id, d)
	return r
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// clean keeps text of a CSV from changing how a page is read: no control characters, none that turns the direction of
// writing, and no cell that becomes a formula when it is copied into a spreadsheet. Markup is the template's business.
func clean(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
			return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.IsSpace(r)
		}), " ")
	}
	s = strings.TrimSpace(s)
	if len(s) > 1 && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}
