package results

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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
	if err := w.Write(Columns()); err != nil {
		return nil, err
	}
	record := make([]string, len(columns))
	for i := range t.Rows {
		for n, c := range columns {
			record[n] = c.text(&t.Rows[i])
			if !c.number && formula(record[n]) {
				return nil, fmt.Errorf("row %s: column %s: %q would be a formula in a spreadsheet", t.Rows[i].Cell, c.name, record[n])
			}
		}
		if err := w.Write(record); err != nil {
			return nil, fmt.Errorf("row %s: %w", t.Rows[i].Cell, err)
		}
	}
	w.Flush()
	return bytes.ToValidUTF8(b.Bytes(), []byte("\ufffd")), w.Error() // a reason may hold what a peer wrote
}

// formula tells what a spreadsheet would take for one: such a file would be a danger to whoever opens it.
func formula(s string) bool {
	return s != "" && strings.ContainsRune("=+@\t\r", rune(s[0])) || len(s) > 1 && s[0] == '-'
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ReadCSV reads the table in a file.
func ReadCSV(path string) (Table, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Table{}, err
	}
	return ParseCSV(path, data)
}

// smallPart is what is not worth another goroutine.
const smallPart = 256 << 10

// ParseCSV reads what MarshalCSV writes. name is the file, for errors, which name the line too. A missing, doubled or
// unknown column, a row cut short, a number that is none, a word that is no verdict and another version are errors;
// nothing is read in part.
func ParseCSV(name string, data []byte) (Table, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // editors put it there, and nobody sees it
	if !utf8.Valid(data) {
		return Table{}, fmt.Errorf("%s:%d: want text in UTF-8", name, invalidLine(data))
	}
	facts, head, err := parseFacts(data)
	if err != nil {
		return Table{}, fmt.Errorf("%s:%w", name, err)
	}
	// The line feed is what tells a whole line: a cut within the last field would pass for a shorter reason.
	if data[len(data)-1] != '\n' {
		return Table{}, fmt.Errorf("%s:%d: no line feed at the end: the file was cut short", name, bytes.Count(data, []byte("\n"))+1)
	}
	cr := csv.NewReader(bytes.NewReader(data[head.bytes:]))
	header, err := cr.Read()
	if err != nil {
		return Table{}, fmt.Errorf("%s:%d: want the line of column names", name, head.lines+1)
	}
	if err := checkHeader(header); err != nil {
		return Table{}, fmt.Errorf("%s:%d: %w", name, head.lines+1, err)
	}
	begin := head.bytes + int(cr.InputOffset())
	rows, fault := parseRows(data[begin:], header, min(runtime.GOMAXPROCS(0), 1+len(data)/smallPart))
	if fault != nil {
		before := data[:begin+fault.at]
		return Table{}, fmt.Errorf("%s:%d: %w", name, bytes.Count(before, []byte("\n"))+fault.line, fault.err)
	}
	return Table{Facts: facts, Rows: rows}, nil
}

// invalidLine is the line of the first byte that is not UTF-8.
func invalidLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return line
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
	if r.TargetRPS != "" && r.TargetRPS != "max" {
		if rate, err := strconv.Atoi(r.TargetRPS); err != nil || rate < 1 {
			return fmt.Errorf("column target_rps: %q is neither max nor a rate", r.TargetRPS)
		}
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
