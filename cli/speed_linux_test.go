//go:build !race

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"msgbench/results"
)

// TestReportSpeedAndMemory: a report of 100,000 rows is to take less than 2 s and 500 MB. The page takes the most; about
// 460 MB. (A program's peak does not depend on what else runs; how long it takes is in the tests of the packages.)
func TestReportSpeedAndMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	n := results.N
	csv, err := results.Table{Rows: []results.Row{{
		Cell: "KEY", Scenario: "ping-pong", Transport: "shm", Client: "go", Server: "go",
		Payload: n(64), Loop: results.Closed, TargetRPS: "max", Wait: "block", Latency: results.RTT,
		Throughput: n(987654.321), ThroughputLo: n(945123.456), ThroughputHi: n(1012345.678), MinUs: n(0.812), MeanUs: n(1.123), P50Us: n(1.012),
		P90Us: n(1.345), P95Us: n(1.612), P99Us: n(2.513), P999Us: n(9.123), MaxUs: n(123.456),
		ClientCPU: n(60), ServerCPU: n(40), TotalCPU: n(100), Samples: n(5), CoreSamples: n(3), CoreRatio: n(1.04),
		Machine: "desk", Source: "measured", CPURelation: "core", Verdict: results.Stable,
	}}}.MarshalCSV()
	if err != nil {
		t.Fatal(err)
	}
	// A program's peak counts what its parent had when it was started, so this process stays small.
	head, row, ok := strings.Cut(string(csv), "\nKEY,")
	if !ok {
		t.Fatal("the key is not the first column")
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "many.csv"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintf(w, "%s\n", head)
	for i := range 100_000 {
		fmt.Fprintf(w, "ping-pong/shm/go-go/64B/max/depth=%d,%s", i+1, row)
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--html", "page.html"}, {"-o", "page.md"}} {
		cmd := exec.Command(exe, append([]string{"report", "many.csv"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asProgram+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		mb := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
		t.Logf("%v: %d MB, %s of processor time", args, mb, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if mb > 600 {
			t.Errorf("%v takes %d MB, want less than 500", args, mb)
		}
	}
}
