package report

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"msgbench/report/internal/golden"
	"msgbench/results"
)

// netipcPage is what netipc published, in figures typed from its page.
func netipcPage(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../testdata/reference/netipc-windows.csv")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tables reads the tables of a page: section, table and cells, joined by tabs.
func tables(page string) []string {
	var out []string
	section, table, head := "", "", true
	for l := range strings.Lines(page) {
		l = strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(l, "## "):
			section, table = l[3:], ""
		case strings.HasPrefix(l, "### "):
			table = l[4:]
		case !strings.HasPrefix(l, "|"):
			head = true
		case head || strings.HasPrefix(l, "| ---"):
			head = false
		default:
			cells := strings.Split(strings.Trim(l, "| "), " | ")
			out = append(out, strings.Join(append([]string{section, table}, cells...), "\t"))
		}
	}
	return out
}

// TestNetipcPage is the proof of the style: the figures of a published page give back its tables cell for cell, in their
// order, and its validation summary.
func TestNetipcPage(t *testing.T) {
	page := Matrix(Document{Name: "netipc.csv", Table: imported(t, sourceNetipc, "netipc-windows.csv", netipcPage(t))})
	golden.Check(t, "matrix-netipc.md.golden", page)
	data, err := os.ReadFile("testdata/netipc-page.tsv")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(data)), "\n")[1:]
	got := tables(page)
	var kept []string
	names := map[string]bool{}
	for _, l := range got {
		if f := strings.Split(l, "\t"); f[0] != "Performance Floors" {
			kept = append(kept, l)
			if f[0] != "Validation Summary" {
				names[f[0]+f[1]] = true
			}
		}
	}
	for i := range max(len(kept), len(want)) {
		if i >= len(kept) || i >= len(want) || kept[i] != want[i] {
			t.Fatalf("row %d is\n%s, want\n%s", i+1, at(kept, i), at(want, i))
		}
	}
	if len(names) != 23 || len(kept) != 23+201 {
		t.Errorf("%d tables and %d rows, want 23 and 201", len(names), len(kept)-23)
	}
	for _, s := range []string{"Machine: local Windows benchmark host (x86\\_64)", "Complete matrix rows expected: 201",
		"| Win SHM ping-pong max (C/Rust pairs) | >= 1M req/s | 2.19M |", "p50, p95 and p99 are service times"} {
		if !strings.Contains(page, s) {
			t.Errorf("the page lacks %q", s)
		}
	}
	if strings.Contains(page, "PASS") || strings.Contains(page, "**") {
		t.Error("imported rows are judged")
	}
}

// TestValidation: counting rows would pass all but the last of these.
func TestValidation(t *testing.T) {
	const row = "np-ping-pong,go,rust,1000,"
	line := func(data, prefix string) string {
		i := strings.Index(data, "\n"+prefix) + 1
		return data[i : i+strings.Index(data[i:], "\n")+1]
	}
	whole := netipcPage(t)
	l := line(whole, row)
	for _, c := range []struct{ name, data, actual, want string }{
		{"complete", whole, "9", ""},
		{"missing", strings.Replace(whole, l, "", 1), "8", "- `ping-pong/np/go-rust/8B/1000`: missing\n"},
		{"doubled", whole + l, "9", "- `ping-pong/np/go-rust/8B/1000`: stands there more than once\n"},
		{"doubled hides missing", strings.Replace(whole, l, line(whole, "np-ping-pong,go,go,1000,"), 1), "8",
			"- `ping-pong/np/go-go/8B/1000`: stands there more than once\n- `ping-pong/np/go-rust/8B/1000`: missing\n"},
		{"unknown peer", strings.Replace(whole, row, "np-ping-pong,go,cobol,1000,", 1), "8",
			"- `ping-pong/np/go-cobol/8B/1000`: not expected: unknown peer cobol\n- `ping-pong/np/go-rust/8B/1000`: missing\n"},
		{"another rate", strings.Replace(whole, row, "np-ping-pong,go,rust,2000,", 1), "8",
			"- `ping-pong/np/go-rust/8B/2000`: not expected\n- `ping-pong/np/go-rust/8B/1000`: missing\n"},
		{"no throughput", strings.Replace(whole, l, row+"0,1,1,1,1,1,1\n", 1), "8", "- `ping-pong/np/go-rust/8B/1000`: no throughput\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := Matrix(Document{Table: imported(t, sourceNetipc, "x.csv", c.data)})
			_, faults, _ := strings.Cut(page, "have figures.\n\n")
			faults, _, _ = strings.Cut(faults, "## ")
			if strings.TrimSpace(faults) != strings.TrimSpace(c.want) {
				t.Errorf("faults are\n%s, want\n%s", faults, c.want)
			}
			if want := fmt.Sprintf("| np-ping-pong | 1000 | 9 | %s |", c.actual); !strings.Contains(page, want) {
				t.Errorf("the summary lacks %s", want)
			}
		})
	}
}

// TestValidationOfRun: the cells of the run are what is expected.
func TestValidationOfRun(t *testing.T) {
	d := document()
	v := validate(d)
	want := []string{"`snapshot/uds/go-go/-/max`: failed: server: &lt;b&gt;\\|panic\\|&lt;/b&gt;", "`ping-pong/pipe/go-go/64B/max`: missing"}
	if !v.known || v.expected != 14 || strings.Join(v.faults, "\n") != strings.Join(want, "\n") {
		t.Errorf("known %v, expected %d, faults %q, want 14 and %q", v.known, v.expected, v.faults, want)
	}
	d.Run = nil
	if v := validate(d); v.known || len(v.faults) != 1 {
		t.Errorf("of a CSV alone: known %v, faults %q", v.known, v.faults)
	}
}

// TestCount: the rule of the seed page, but that nothing prints as 1000.0k or 1000.
func TestCount(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 998: "998", 999.4: "999", 1000: "1.0k", 65322: "65.3k", 999949: "999.9k",
		999951: "1.00M", 1e6: "1.00M", 2476543: "2.48M", 177615463: "177.62M"} {
		if got := count(results.N(v)); got != want {
			t.Errorf("count(%v) is %s, want %s", v, got, want)
		}
	}
}
