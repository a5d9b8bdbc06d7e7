//go:build unix && !race

package html

import (
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
