package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"msgbench/results"
)

// The sources of imported rows, as in their source column.
const (
	sourceAreg    = "areg"
	sourceHitachi = "hitachi"
	sourceNetipc  = "netipc"
)

// importer turns a published file into rows.
type importer struct {
	source  string // also the name of the format
	summary string
	origin  string // where such files are published
	flaws   string // what is wrong with all of its rows, for the head of the CSV
	read    func(*publishedFile) error
}

var importers = []importer{
	{sourceAreg, "areg-sdk's latency CSV (example 30), with ; or , between fields", "aregtech/areg-sdk, docs/wiki", aregFlaws, readAreg},
	{sourceHitachi, "results.csv of Hitachi Energy's messaging-libraries-benchmark", "hitachienergy/messaging-libraries-benchmark (arXiv:2508.07934), results/results.csv", hitachiFlaws, readHitachi},
	{sourceNetipc, "the CSV of netdata/plugin-ipc's benchmark pages", "netdata/plugin-ipc", netipcFlaws, readNetipc},
}

// ImportFormats are the names of the formats that Import reads, each with a line about it.
func ImportFormats() [][2]string {
	out := make([][2]string, len(importers))
	for i, m := range importers {
		out[i] = [2]string{m.source, m.summary}
	}
	return out
}

// Import turns a published CSV into rows with the verdict imported. name is the file's, for errors, which name the line and
// what was expected. machine says where it was measured; empty: what the file or its page says. Nothing is read in part.
func Import(format, name string, data []byte, machine string) (results.Table, error) {
	i := slices.IndexFunc(importers, func(m importer) bool { return m.source == format })
	if i < 0 {
		return results.Table{}, fmt.Errorf("unknown format %q", format)
	}
	m := importers[i]
	if !utf8.Valid(data) {
		return results.Table{}, fmt.Errorf("%s:1: want text in UTF-8", name)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // spreadsheets put it there
	f := &publishedFile{name: name, data: data, machine: machine}
	f.comments()
	if err := m.read(f); err != nil {
		return results.Table{}, err
	}
	if len(f.rows) == 0 {
		return results.Table{}, fmt.Errorf("%s:%d: want at least one row after the column names", name, f.lines+1)
	}
	for i := range f.rows {
		r := &f.rows[i]
		r.Machine, r.Source, r.Verdict = f.machine, m.source, results.Imported
		for _, x := range f.facts {
			if x.Key == "published flaw" {
				r.Reason += "; " + x.Value
			}
		}
	}
	t := results.Table{Rows: f.rows, Facts: []results.Fact{
		{Key: "machine", Value: f.machine}, {Key: "source", Value: "imported from " + base(name) + "; published by " + m.origin},
		{Key: "flaws", Value: m.flaws},
	}}
	t.Facts = append(t.Facts, f.facts...)
	return t, nil
}

// base is the last part of a path of any system.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// publishedFile is a file while it is read.
type publishedFile struct {
	name    string
	data    []byte
	machine string
	facts   []results.Fact
	rows    []results.Row
	lines   int // before what is read next
}

// comments takes the comment lines off the head of the file. Those that hold key=value or key: value become facts;
// what is said of the key "flaw" becomes a part of every row's reason.
func (f *publishedFile) comments() {
	for {
		head, rest, ok := bytes.Cut(f.data, []byte("\n"))
		// A spreadsheet has filled them up with separators.
		line := strings.TrimRight(strings.TrimSpace(string(head)), ";,")
		if !ok || line != "" && line[0] != '#' {
			return
		}
		f.data = rest
		f.lines++
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		i := strings.IndexAny(line, "=:")
		if i <= 0 || strings.TrimSpace(line[i+1:]) == "" {
			continue
		}
		f.facts = append(f.facts, results.Fact{Key: "published " + strings.TrimSpace(line[:i]), Value: strings.TrimSpace(line[i+1:])})
	}
}

// fact is what a comment line says; empty where none does.
func (f *publishedFile) fact(key string) string {
	return results.Table{Facts: f.facts}.Fact("published " + key)
}

// published is one row of a published file, by column.
type published struct {
	file   *publishedFile
	number int
	fields []string
	column map[string]int
	err    error // the first
}

// each calls row for every line after the column names, which must be these, in this order. comma separates fields. The
// first error ends it.
func (f *publishedFile) each(columns string, comma rune, row func(*published) results.Row) error {
	want := strings.Split(columns, ",")
	if len(f.data) > 0 && f.data[len(f.data)-1] != '\n' {
		return fmt.Errorf("%s:%d: no line feed at the end: the file was cut short", f.name, f.lines+bytes.Count(f.data, []byte("\n"))+1)
	}
	r := csv.NewReader(bytes.NewReader(f.data))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = comma, -1, true
	head, err := r.Read()
	if err != nil {
		return fmt.Errorf("%s:%d: want the column names %s", f.name, f.lines+1, strings.Join(want, string(comma)))
	}
	for i := range max(len(head), len(want)) {
		if i >= len(head) || i >= len(want) || strings.TrimSpace(head[i]) != want[i] {
			return fmt.Errorf("%s:%d: column %d is %s, want %s", f.name, f.lines+1, i+1, at(head, i), at(want, i))
		}
	}
	p := &published{file: f, column: map[string]int{}}
	for i, c := range want {
		p.column[c] = i
	}
	for {
		p.fields, err = r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			return fmt.Errorf("%s:%d: %w", f.name, f.lines+parse.Line, parse.Err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		line, _ := r.FieldPos(0)
		p.number = f.lines + line
		if len(p.fields) != len(want) {
			return fmt.Errorf("%s:%d: %d fields, want %d (%s)", f.name, p.number, len(p.fields), len(want), strings.Join(want, string(comma)))
		}
		x := row(p)
		if p.err != nil {
			return p.err
		}
		f.rows = append(f.rows, x)
	}
}

func at(list []string, i int) string {
	if i >= len(list) {
		return "missing"
	}
	return strconv.Quote(list[i])
}

func (p *published) fail(column, want string) {
	if p.err == nil {
		p.err = fmt.Errorf("%s:%d: column %s: %q is not %s", p.file.name, p.number, column, p.text(column), want)
	}
}

func (p *published) text(column string) string { return strings.TrimSpace(p.fields[p.column[column]]) }

// word is a text that must be one of the keys of words; the value is what we call it.
func (p *published) word(column string, words map[string]string) string {
	w, ok := words[p.text(column)]
	if !ok {
		known := make([]string, 0, len(words))
		for k := range words {
			known = append(known, k)
		}
		slices.Sort(known)
		p.fail(column, "one of "+strings.Join(known, ", "))
	}
	return w
}

// peer is a text that may be the name of a peer.
func (p *published) peer(column string) string {
	s := p.text(column)
	if s == "" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		p.fail(column, "the name of a peer (a-z, 0-9)")
	}
	return s
}

// number64 is a number of at least 0 times unit.
func (p *published) number64(column string, unit float64) float64 {
	s := p.text(column)
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(s, "xXpP_") {
		p.fail(column, "a number from 0")
		return 0
	}
	return v * unit
}

// maybe is a number from 0 that may be missing.
func (p *published) maybe(column string, unit float64) results.Num {
	if p.text(column) == "" {
		return results.Num{}
	}
	return p.num(column, unit)
}

func (p *published) num(column string, unit float64) results.Num {
	return results.N(p.number64(column, unit))
}

// integer is a whole number of at least 0.
func (p *published) integer(column string) int {
	v, err := strconv.Atoi(p.text(column))
	if err != nil || v < 0 || v > math.MaxInt32 {
		p.fail(column, "a whole number from 0")
		return 0
	}
	return v
}

// positive is a number above 0 that a row can't be without.
func (p *published) positive(column string, unit float64) results.Num {
	v := p.number64(column, unit)
	if v == 0 {
		p.fail(column, "above 0")
	}
	return results.N(v)
}

// importedRow begins the row of a cell.
func importedRow(c results.Cell) results.Row {
	r := results.Row{
		Cell: c.Key(), Scenario: c.Scenario, Transport: c.Transport, Client: c.Client, Server: c.Server,
		TargetRPS: results.RateString(c.Rate), Loop: results.Closed,
		Subscribers: c.Dim("subscribers"), Scope: c.Dim("scope"), Depth: c.Dim("depth"), Mode: c.Dim("mode"),
	}
	if c.Payload != results.NoPayload {
		r.Payload = results.N(float64(c.Payload))
	}
	return r
}
