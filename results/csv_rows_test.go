package results

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Rows are the same in however many parts they are read, and a fault has the same line; records are those of encoding/csv.
func TestRowsInParts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	reasons := []string{"", "plain", "a, b", `say "x"`, "two\nlines", "three\n\n\"lines\"\n", `"`, ",", "\n", "ü"}
	spoilers := []string{"\n", "\r\n", "\n\n\n", "x\"y", "\"a\"b", "\"open", ",", "NaN,", "\"", "\"\"", "\"\n\"", ""}
	faults, blanks := 0, 0
	for range 400 {
		var all Table
		for range r.IntN(12) {
			row := bare()
			row.Cell += fmt.Sprint("/n=", r.IntN(1000))
			row.Reason, row.Machine = reasons[r.IntN(len(reasons))], reasons[r.IntN(len(reasons))]
			all.Rows = append(all.Rows, row)
		}
		text, err := all.MarshalCSV()
		if err != nil {
			t.Fatal(err)
		}
		_, header, _ := bytes.Cut(text, []byte("\n"))
		_, data, _ := bytes.Cut(header, []byte("\n"))
		if r.IntN(2) == 0 && len(data) > 0 {
			at := r.IntN(len(data))
			data = bytes.Join([][]byte{data[:at], data[at:]}, []byte(spoilers[r.IntN(len(spoilers))]))
		}
		records, wantErr := csv.NewReader(bytes.NewReader(data)).ReadAll()
		want, fault := parseRows(data, Columns(), 1)
		if fault != nil {
			faults++
		}
		if wantErr != nil && fault == nil || fault == nil && len(want) != len(records) {
			t.Fatalf("%q\n%d rows and %+v, encoding/csv has %d and %v", data, len(want), fault, len(records), wantErr)
		}
		for i, row := range want {
			for n, c := range columns {
				if got := c.text(&row); got != records[i][n] {
					t.Fatalf("%q\nrow %d, column %s: %q, want %q", data, i, c.name, got, records[i][n])
				}
			}
		}
		if len(want) < bytes.Count(data, []byte("\n")) {
			blanks++
		}
		for _, n := range []int{2, 3, 5, 8} {
			got, f := parseRows(data, Columns(), n)
			if !slices.Equal(got, want) || !sameFault(f, fault) {
				t.Fatalf("%q\nin %d parts: %d rows and %+v, in one %d and %+v", data, n, len(got), f, len(want), fault)
			}
		}
	}
	if faults < 60 || blanks < 60 {
		t.Errorf("%d faults and %d tables with fewer rows than lines: the test says little", faults, blanks)
	}
}

func sameFault(a, b *fault) bool {
	return a == nil && b == nil || a != nil && b != nil && a.at == b.at && a.line == b.line && a.err.Error() == b.err.Error()
}

// The line of a fault is told in a file that is read in parts too.
func TestFaultInALargeFile(t *testing.T) {
	row := full()
	row.Reason = "of two\nlines"
	text, err := Table{Rows: slices.Repeat([]Row{row}, 2000)}.MarshalCSV()
	if err != nil {
		t.Fatal(err)
	}
	if len(text) < 2*smallPart {
		t.Fatalf("%d bytes are read in one part", len(text))
	}
	lines := strings.SplitAfter(string(text), "\n") // 1: version, 2: header, then two a row
	for _, n := range []int{3, 1999, 2001, 3999} {
		lines[n-1] = strings.Replace(lines[n-1], "9998.4,9990", "fast,9990", 1)
		_, err := ParseCSV("f.csv", []byte(strings.Join(lines, "")))
		if want := fmt.Sprintf(`f.csv:%d: column throughput: "fast" is not a number`, n); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		lines[n-1] = strings.Replace(lines[n-1], "fast,9990", "9998.4,9990", 1)
	}
}
