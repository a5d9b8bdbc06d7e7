package results

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
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
		if strings.ContainsAny(f.Key, ":\r\n") {
			return nil, fmt.Errorf("fact %q: a key holds no colon and no line feed", f.Key)
		}
		fmt.Fprintf(&b, "# %s: %s\n", f.Key, oneLine(f.Value))
	}
	w := csv.NewWriter(&b)
	enc := csvutil.NewEncoder(w)
	if err := enc.EncodeHeader(Row{}); err != nil {
		return nil, err
	}
	for _, r := range t.Rows {
		if column, text := formula(r); column != "" {
			return nil, fmt.Errorf("row %s: column %s: %q would be a formula in a spreadsheet", r.Cell, column, text)
		}
		if err := enc.Encode(r); err != nil {
			return nil, fmt.Errorf("row %s: %w", r.Cell, err)
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// formula finds a text that a spreadsheet would take for a formula: such a file would be a danger to whoever opens it.
func formula(r Row) (column, text string) {
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if v.Field(i).Kind() != reflect.String {
			continue
		}
		s := v.Field(i).String()
		if s != "" && strings.ContainsRune("=+@\t\r", rune(s[0])) || len(s) > 1 && s[0] == '-' {
			return v.Type().Field(i).Tag.Get("csv"), s
		}
	}
	return "", ""
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ParseCSV reads what MarshalCSV writes. name is the file, for errors, which name the line too. A missing, doubled or
// unknown column, a row cut short, a number that is none, a word that is no verdict and another version are errors;
// nothing is read in part.
func ParseCSV(name string, r io.Reader) (Table, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return Table{}, fmt.Errorf("%s: %w", name, err)
	}
	facts, head, err := parseFacts(data)
	if err != nil {
		return Table{}, fmt.Errorf("%s:%w", name, err)
	}
	// The line feed is what tells a whole line: a cut within the last field would pass for a shorter reason.
	if data[len(data)-1] != '\n' {
		return Table{}, fmt.Errorf("%s:%d: no line feed at the end: the file was cut short", name, bytes.Count(data, []byte("\n"))+1)
	}
	t := Table{Facts: facts}
	cr := csv.NewReader(bytes.NewReader(data[head.bytes:]))
	header, err := cr.Read()
	if err != nil {
		return Table{}, fmt.Errorf("%s:%d: want the line of column names", name, head.lines+1)
	}
	if err := checkHeader(header); err != nil {
		return Table{}, fmt.Errorf("%s:%d: %w", name, head.lines+1, err)
	}
	dec, err := csvutil.NewDecoder(cr, header...)
	if err != nil {
		return Table{}, fmt.Errorf("%s: %w", name, err)
	}
	// A row takes 1 KB: growing a slice of them copies and wastes more than reading them. None is shorter than its commas.
	t.Rows = make([]Row, 0, min(bytes.Count(data[head.bytes:], []byte("\n")), len(data)/len(header)))
	for {
		var row Row
		err := dec.Decode(&row)
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err == nil {
			err = row.check()
		}
		if err != nil {
			return Table{}, rowError(name, head.lines, len(header), cr, err)
		}
		t.Rows = append(t.Rows, row)
	}
}

// extent is how far the lines of facts go.
type extent struct{ lines, bytes int }

// parseFacts reads the lines that begin with "#". Its errors begin with the number of the line.
func parseFacts(data []byte) (facts []Fact, head extent, err error) {
	for len(data) > head.bytes && data[head.bytes] == '#' {
		end := bytes.IndexByte(data[head.bytes:], '\n')
		if end < 0 {
			return nil, head, fmt.Errorf("%d: the file ends in a line of facts: it was cut short", head.lines+1)
		}
		line := string(data[head.bytes : head.bytes+end])
		head.lines++
		head.bytes += end + 1
		key, value, ok := strings.Cut(strings.TrimPrefix(line, "#"), ":")
		if !ok {
			return nil, head, fmt.Errorf("%d: want \"# key: value\"", head.lines)
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if head.lines > 1 {
			facts = append(facts, Fact{key, value})
		} else if key != csvHead || value != fmt.Sprint(FormatVersion) {
			return nil, head, noHead
		}
	}
	if head.lines == 0 {
		return nil, head, noHead
	}
	return facts, head, nil
}

var noHead = fmt.Errorf("1: want \"# %s: %d\", the first line of a results file", csvHead, FormatVersion)

// check refuses words that no row has. An error of a field names its column.
func (r *Row) check() error {
	switch r.Verdict {
	case Stable, Recovered, Oversubscribed, Unstable, Failed, Skipped, Imported:
	default:
		return fmt.Errorf("column verdict: %q is not a verdict", r.Verdict)
	}
	switch r.Trend {
	case "", Falling, Rising:
	default:
		return fmt.Errorf("column trend: %q is neither falling nor rising", r.Trend)
	}
	if rate, err := strconv.Atoi(r.TargetRPS); r.TargetRPS != "" && r.TargetRPS != "max" && (err != nil || rate < 1) {
		return fmt.Errorf("column target_rps: %q is neither max nor a rate", r.TargetRPS)
	}
	if r.Cell == "" {
		return errors.New("column cell: want a key")
	}
	for _, f := range [...]struct {
		column string
		n      Num
	}{{"throughput", r.Throughput}, {"throughput_lo", r.ThroughputLo}, {"throughput_hi", r.ThroughputHi}, {"messages_per_s", r.MessagesPerS},
		{"mb_per_s", r.MBPerS}, {"min_us", r.MinUs}, {"mean_us", r.MeanUs}, {"p50_us", r.P50Us}, {"p95_us", r.P95Us}, {"p99_us", r.P99Us},
		{"max_us", r.MaxUs}} {
		if f.n.Or(0) < 0 {
			return fmt.Errorf("column %s: %s is below 0", f.column, f.n)
		}
	}
	return nil
}

// laterColumns came after files of this version had been published. Where one is missing it was not measured, so files of
// before stay readable, and the version stays what it is.
var laterColumns = []string{"trend", "steal_pct", "foreign_pct", "disturbed", "disturbed_kept", "router_peak_per_s", "router_sustained_per_s"}

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
		if !slices.Contains(header, w) && !slices.Contains(laterColumns, w) {
			return fmt.Errorf("column %q is missing", w)
		}
	}
	return nil
}

// rowError puts file and line before an error of the CSV or of a field.
func rowError(name string, head, columns int, cr *csv.Reader, err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		if errors.Is(err, csv.ErrFieldCount) {
			return fmt.Errorf("%s:%d: want %d fields: the row was cut short or has too many", name, head+parse.Line, columns)
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
