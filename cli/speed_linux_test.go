//go:build !race

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"msgbench/report"
	"msgbench/results"
)

// TestReportSpeedAndMemory: a report of 100,000 rows is to take less than 2 s and 500 MB, whatever its layout, be the rows in a few
// large tables or in thousands of small ones. The test asks for half that speed, in processor time, since others run beside it; a
// program's peak of memory does not depend on them.
func TestReportSpeedAndMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	reports := [][]string{{"--html", "page.html"}}
	for _, style := range report.StyleNames() {
		reports = append(reports, []string{"-o", "page.md", "--style", style})
	}
	for _, shape := range []struct {
		name string
		of   func(n int) (payload int, dims string)
	}{
		{"few large tables", func(n int) (int, string) { return 64, fmt.Sprintf("/depth=%d", n+1) }},
		{"many small tables", func(n int) (int, string) { return 8 * (n + 1), "" }},
	} {
		dir := t.TempDir()
		writeManyRows(t, filepath.Join(dir, "many.csv"), 100_000, shape.of)
		for _, args := range reports {
			cmd := exec.Command(exe, append([]string{"report", "many.csv"}, args...)...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), asProgram+"=1")
			start := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			wall, cpu := time.Since(start), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
			mb := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
			t.Logf("%s, %s: %.2f s, %.2f s of processor time, %d MB", shape.name, strings.Join(args, " "), wall.Seconds(), cpu.Seconds(), mb)
			if mb > 500 || cpu > 4*time.Second {
				t.Errorf("%s, %v: %d MB and %s of processor time, want at most 500 MB and 4 s (the goal is 2 s)", shape.name, args, mb, cpu)
			}
		}
	}
}

// writeManyRows writes rows of eight transports at two rates, n times over. Peaks of programs count what their parent had when it
// started them, so the rows are never in memory here.
func writeManyRows(t *testing.T, path string, rows int, of func(n int) (payload int, dims string)) {
	t.Helper()
	n := results.N
	var table results.Table
	transports := []string{"pipe", "shm", "uds", "tcp", "zmq-tcp", "zmq-ipc", "nng-tcp", "nng-ipc"}
	for i, transport := range transports {
		us := 10 + 7.31*float64(i)
		r := results.Row{
			Cell: "KEY", Scenario: "ping-pong", Transport: transport, Client: "go", Server: "go", Payload: n(1), Loop: results.Closed,
			TargetRPS: "max", Wait: "block", Options: "nodelay=on;rcvbuf=131072;sndbuf=3939840;socket=REQ",
			Throughput: n(1e6 / us), ThroughputLo: n(0.98e6 / us), ThroughputHi: n(1.02e6 / us), MessagesPerS: n(1e6 / us), MBPerS: n(64 / us),
			Latency: results.RTT, MinUs: n(us / 3), MeanUs: n(1.1 * us), P50Us: n(us), P50Lo: n(0.98 * us), P50Hi: n(1.02 * us), P90Us: n(1.4 * us),
			P95Us: n(2 * us), P99Us: n(5 * us), P99Lo: n(4.9 * us), P99Hi: n(5.1 * us), P999Us: n(30 * us), MaxUs: n(1234.567 + us),
			ClientCPU: n(50.123), ServerCPU: n(49.877), TotalCPU: n(100), CPUNsOp: n(us * 1000), Sent: n(5e6 / us), Received: n(5e6 / us),
			Lost: n(0), Duplicated: n(0), Reordered: n(0), Samples: n(5), CoreSamples: n(3), CoreRatio: n(1.041), RawRatio: n(1.217),
			DriftPct: n(-0.312), StealPct: n(0.125), ForeignPct: n(1.5), Disturbed: n(1), DisturbedKept: n(0), Hops: n(1), RequestBytes: n(96),
			ResponseBytes: n(96), RSSBytes: n(13172736), Pin: "default", CPURelation: "core", Machine: "desk, 8 cores, Debian GNU/Linux 12",
			Source: "measured", Verdict: results.Stable,
		}
		if transport == "zmq-tcp" {
			r.Verdict, r.Reason = results.Unstable, "too few samples: 2, want 3; 3 rejected: ramp: last third / first third of the window = 0.17"
		}
		table.Rows = append(table.Rows, r)
		r.TargetRPS, r.Loop, r.Latency = "10000", results.Paced, results.Response
		r.SvcP50Us, r.SvcP95Us, r.SvcP99Us, r.LateP99 = n(us), n(2*us), n(4*us), n(25.5)
		table.Rows = append(table.Rows, r)
	}
	csv, err := table.MarshalCSV()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(csv), "\nKEY,")
	head, lines := parts[0], parts[1:]
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, head)
	for i := range rows {
		r := &table.Rows[i%len(lines)]
		payload, dims := of(i / len(lines))
		before, after, ok := strings.Cut(strings.TrimSuffix(lines[i%len(lines)], "\n"), ",go,go,1,")
		if !ok {
			t.Fatal("the payload does not follow the peers")
		}
		fmt.Fprintf(w, "ping-pong/%s/go-go/%dB/%s%s,%s,go,go,%d,%s\n", r.Transport, payload, r.TargetRPS, dims, before, payload, after)
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// However long its journal is, a run ends in 100 MB, and so does what is made of it afterwards.
func TestReportMemorySpeed(t *testing.T) {
	dir, lines, size := longRun(t, true)
	floors := "floors: [{name: tail, cell: '*', metric: p999_us, max: 1e6}]\n"
	if err := os.WriteFile(filepath.Join(dir, "f.yaml"), []byte(floors), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", "--resume", "r", "-q"}, // no sample is missing: only the reports are made
		{"report", "r"},
		{"report", "r", "--html", "page.html"},
		{"compare", "r", "r"},
		{"check", "r", "--floors", "f.yaml"},
		{"export", "r", "--format", "gobench"},
	} {
		cmd := program(t, dir, args...)
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		out, err := cmd.Output()
		if err != nil || len(out) == 0 && args[0] != "report" {
			t.Fatalf("%v: %v, %d bytes: %.500s", args, err, len(out), &errOut)
		}
		rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
		t.Logf("%d lines, %d MB: %v takes %d MB and %s of CPU time", lines, size/1e6, args, rss/1e6,
			(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Round(time.Millisecond))
		if rss > 100e6 {
			t.Errorf("%v takes %d MB, want 100", args, rss/1e6)
		}
	}
}
