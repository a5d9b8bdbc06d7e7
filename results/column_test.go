package results

import (
	"slices"
	"testing"
)

func TestColumns(t *testing.T) {
	r := Row{Cell: "a/b", Verdict: Stable, Throughput: N(2.5)}
	for _, tt := range []struct {
		column, text string
		number, ok   bool
	}{
		{"throughput", "2.5", true, true},
		{"p50_us", "", true, true},
		{"cell", "a/b", false, true},
		{"verdict", "stable", false, true},
		{"Throughput", "", false, false},
		{"", "", false, false},
	} {
		text, ok := r.Text(tt.column)
		n, number := r.Number(tt.column)
		if text != tt.text || ok != tt.ok || number != tt.number || number && n.String() != tt.text {
			t.Errorf("%q: %q %v, number %v %v", tt.column, text, ok, n, number)
		}
		if slices.Contains(Numbers(), tt.column) != tt.number {
			t.Errorf("%q among the numbers: %v", tt.column, !tt.number)
		}
	}
	for _, c := range Columns() { // every column is one or the other
		if _, ok := r.Text(c); !ok {
			t.Errorf("no text of column %q", c)
		}
	}
}
