package results

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jszwec/csvutil"
)

// csvHead is the key of the first line; its value is the version.
const csvHead = "msgbench-results"

// Table is a CSV of results: facts of the run as "# key: value" lines, then one line a row.
type Table struct {
	Facts []Fact
	Rows  []Row
}

// Fact is the value of a fact, empty if there is none.
func (t Table) Fact(key string) string {
	for _, f := range t.Facts {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// Columns are the names of the CSV's columns in their order.
func Columns() []string {
	h, err := csvutil.Header(Row{}, "csv")
	if err != nil {
		panic(err) // Row is not a struct: a mistake in this package
	}
	return h
}

// MarshalCSV writes the table.
func (t Table) MarshalCSV() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s: %d\n", csvHead, FormatVersion)
	for _, f := range t.Facts {
		fmt.Fprintf(&b, "# %s: %s\n", f.Key, oneLine(f.Value))
	}
	w := csv.NewWriter(&b)
	enc := csvutil.NewEncoder(w)
	if err := enc.EncodeHeader(Row{}); err != nil {
		return nil, err
	}
	for _, r := range t.Rows {
		if err := enc.Encode(r); err != nil {
			return nil, fmt.Errorf("row %s: %w", r.Cell, err)
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ParseCSV reads what MarshalCSV writes. name is the file, for errors, which name the line too. A missing, doubled or
// unknown column, a row cut short, a number that is none and another version are errors; nothing is read in part.
func ParseCSV(name string, r io.Reader) (Table, error) {
	var t Table
	br := bufio.NewReader(r)
	lines := 0
	for {
		p, err := br.Peek(1)
		if err != nil || p[0] != '#' {
			break
		}
		line, err := br.ReadString('\n')
		if err != nil {
			return Table{}, fmt.Errorf("%s:%d: the file ends in a line of facts: it was cut short", name, lines+1)
		}
		lines++
		key, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "#")), ":")
		if !ok {
			return Table{}, fmt.Errorf("%s:%d: want \"# key: value\"", name, lines)
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if lines == 1 {
			if key != csvHead || value != fmt.Sprint(FormatVersion) {
				return Table{}, fmt.Errorf("%s:1: want \"# %s: %d\", the first line of a results file", name, csvHead, FormatVersion)
			}
			continue
		}
		t.Facts = append(t.Facts, Fact{key, value})
	}
	if lines == 0 {
		return Table{}, fmt.Errorf("%s:1: want \"# %s: %d\", the first line of a results file", name, csvHead, FormatVersion)
	}
	cr := csv.NewReader(br)
	header, err := cr.Read()
	if err != nil {
		return Table{}, fmt.Errorf("%s:%d: want the line of column names", name, lines+1)
	}
	if err := checkHeader(header); err != nil {
		return Table{}, fmt.Errorf("%s:%d: %w", name, lines+1, err)
	}
	dec, err := csvutil.NewDecoder(cr, header...)
	if err != nil {
		return Table{}, fmt.Errorf("%s: %w", name, err)
	}
	for {
		var row Row
		err := dec.Decode(&row)
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return Table{}, rowError(name, lines, cr, err)
		}
		t.Rows = append(t.Rows, row)
	}
}

func checkHeader(header []string) error {
	want := Columns()
	for i, h := range header {
		switch {
		case !slices.Contains(want, h):
			return fmt.Errorf("unknown column %q", h)
		case slices.Index(header, h) != i:
			return fmt.Errorf("column %q stands twice", h)
		}
	}
	for _, w := range want {
		if !slices.Contains(header, w) {
			return fmt.Errorf("column %q is missing", w)
		}
	}
	return nil
}

// rowError puts file and line before an error of the CSV or of a field.
func rowError(name string, head int, cr *csv.Reader, err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		if errors.Is(err, csv.ErrFieldCount) {
			return fmt.Errorf("%s:%d: want %d fields: the row was cut short or has too many", name, head+parse.Line, len(Columns()))
		}
		return fmt.Errorf("%s:%d: %w", name, head+parse.Line, parse.Err)
	}
	line, _ := cr.FieldPos(0)
	var field *csvutil.DecodeError
	if errors.As(err, &field) {
		return fmt.Errorf("%s:%d: column %s: %w", name, head+line, field.Field, field.Err)
	}
	return fmt.Errorf("%s:%d: %w", name, head+line, err)
}
