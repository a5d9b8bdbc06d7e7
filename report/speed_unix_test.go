//go:build unix && !race

package report

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"msgbench/results"
)

// TestSpeed: a report of 100,000 rows is to take less than 2 s. The test asks for that of a tenth of them, in processor
// time, since other tests run beside it.
func TestSpeed(t *testing.T) {
	var rows []results.Row
	for i := range 10_000 {
		r := measured("ping-pong", []string{"pipe", "shm", "uds", "tcp"}[i%4], "go", "go", 8*(1+i/8), i/4%2*10_000, 4+float64(i%7), 1e5)
		rows = append(rows, r)
	}
	csv, err := results.Table{Rows: rows}.MarshalCSV()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Styles {
		start := processorTime(t)
		table, err := results.ParseCSV("x.csv", csv)
		if err != nil {
			t.Fatal(err)
		}
		s.Render(Document{Table: table})
		took := processorTime(t) - start
		t.Logf("%s: %s", s.Name, took)
		if took > time.Second {
			t.Errorf("%s takes %s of processor time for 10,000 rows, want less than 1s (a tenth of 100,000 in 2 s is 200ms)", s.Name, took)
		}
	}
}

// BenchmarkReport reads and renders 100,000 rows.
func BenchmarkReport(b *testing.B) {
	var rows []results.Row
	for i := range 100_000 {
		rows = append(rows, measured("ping-pong", fmt.Sprintf("t%d", i%8), "go", "go", 8*(1+i/16), i/8%2*10_000, 4, 1e5))
	}
	csv, err := results.Table{Rows: rows}.MarshalCSV()
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range Styles {
		b.Run(s.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				table, err := results.ParseCSV("x.csv", csv)
				if err != nil {
					b.Fatal(err)
				}
				s.Render(Document{Table: table})
			}
		})
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
