//go:build unix && !race

package html

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"msgbench/report"
	"msgbench/report/internal/example"
	"msgbench/results"
)

// TestSpeed: the page of 100,000 rows is to take less than 2 s, and about 2.5 s of processor time, some of which two
// processors share. The test asks for four times that, since other tests run beside it.
func TestSpeed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	csv, err := example.Many(100_000).MarshalCSV()
	if err != nil {
		t.Fatal(err)
	}
	begun := processorTime(t)
	pageOf(t, csv)
	took := processorTime(t) - begun
	t.Logf("100,000 rows from CSV to page: %s of processor time", took)
	if took > 8*time.Second {
		t.Errorf("100,000 rows take %s of processor time, want about 2.5 s", took)
	}
}

// TestBrowserSpeed: 2,000 rows are to open and sort in under 300 ms (docs/performance.md). Other work on the machine only adds,
// so the best of some tries counts, and it may take twice as long.
func TestBrowserSpeed(t *testing.T) {
	const goal, limit = 300, 600
	b := startBrowser(t)
	file := write(t, report.Document{Table: example.Many(2000)})
	best := [3]float64{1e9, 1e9, 1e9}
	for range 25 {
		p := b.open(file)
		var ms [3]float64
		p.eval(helpers, nil)
		p.eval(`(() => {
			const n = performance.getEntriesByType("navigation")[0];
			const paint = performance.getEntriesByType("paint").map((e) => e.startTime);
			const open = Math.max(n.loadEventEnd, ...paint) - n.responseStart;
			const a = performance.now();
			T(0).tHead.rows[0].cells[column(0, "p50 µs")].querySelector("button").click();
			document.body.offsetHeight;
			const b = performance.now();
			type("zmq 64");
			document.body.offsetHeight;
			return [open, b - a, performance.now() - b];
		})()`, &ms)
		p.close()
		if ms[0]+ms[1]+ms[2] < best[0]+best[1]+best[2] {
			best = ms
		}
		if best[0]+best[1] < goal && best[2] < goal {
			break
		}
	}
	text := fmt.Sprintf("2,000 rows: open %.0f ms, sort %.0f ms, filter %.0f ms", best[0], best[1], best[2])
	t.Log(text)
	if best[0]+best[1] >= limit || best[2] >= limit {
		t.Errorf("%s; want less than %d ms for the first two and for the third, and %d is too much", text, goal, limit)
	}
}

// BenchmarkPage reads 100,000 rows and makes their page.
func BenchmarkPage(b *testing.B) {
	csv, err := example.Many(100_000).MarshalCSV()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		pageOf(b, csv)
	}
}

func pageOf(t testing.TB, csv []byte) {
	table, err := results.ParseCSV("x.csv", csv)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Page(report.Document{Table: table}); err != nil {
		t.Fatal(err)
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
