package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"msgbench/results"
	"msgbench/results/hist"
)

var journalLines = flag.Int("limits.lines", 5000, "lines of the journals that TestResumeSpeed and TestReportMemorySpeed make")

// program is this test binary as msgbench.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1", "GORACE="+raceEnv, "TMPDIR="+dir)
	return cmd
}

// measurement is one as a second of ping-pong gives it: a histogram of some hundred buckets.
func measurement(r *rand.Rand) *results.Measurement {
	m := &results.Measurement{Loop: results.Closed, LatencyKind: results.RTT, WindowNs: 1e9, Latency: hist.New(), Hops: 1,
		CPUNs:   map[string]int64{"client": 6e8, "server": 6e8},
		GC:      map[string]int64{"client": 0, "server": 0},
		Mallocs: map[string]int64{"client": 12, "server": 14},
		RSS:     map[string]int64{"client": 12 << 20, "server": 12 << 20},
		Facts:   map[string]string{"wait": "block", "buffer": "212992", "msg_framing": "seqpacket"},
	}
	for range 20000 {
		m.Latency.Record(int64(60e3 * math.Exp(r.NormFloat64()*0.25)))
	}
	m.Ops, m.Messages, m.Sent, m.Received = 20000, 20000, 20000, 20000
	m.Thirds = []int64{6667, 6667, 6666}
	return m
}

// fakeJournal writes a journal of rounds over the cells of the run in dir, and returns its size.
func fakeJournal(t *testing.T, dir string, rounds int) (lines int, size int64) {
	t.Helper()
	run, err := results.ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var tails [][]byte // what is behind the head of a line
	for range 8 {
		s := results.Sample{Version: results.FormatVersion, Cell: "x", Outcome: results.OK, Measurement: measurement(r), WallNs: 12e8}
		line, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		_, tail, _ := bytes.Cut(line, []byte(`"try":0`))
		tails = append(tails, tail)
	}
	f, err := os.Create(filepath.Join(dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	for round := range rounds {
		for _, c := range run.Cells {
			n, err := fmt.Fprintf(w, `{"v":1,"cell":%q,"order":%d,"round":%d,"attempt":0,"try":0%s`+"\n", c.Key(), lines, round, tails[r.IntN(len(tails))])
			if err != nil {
				t.Fatal(err)
			}
			lines, size = lines+1, size+int64(n)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return lines, size
}

// peak is the most memory that a process had at a time, in bytes.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// longRun makes the directory r of a run of 1,000 cells whose journal has about -limits.lines lines, which is all of its samples if
// it is to be over.
func longRun(t *testing.T, over bool) (dir string, lines int, size int64) {
	t.Helper()
	const cells = 1000
	dir = t.TempDir()
	var payloads []string
	for i := range cells / 4 {
		payloads = append(payloads, fmt.Sprint(8*(i+1)))
	}
	rounds := max(*journalLines/cells, 1)
	samples := rounds + 1
	if over {
		samples = rounds
	}
	suite := fmt.Sprintf("name: long\nsamples: %d\nmax-duration: 10ms\nwarmup: 0s\ncalibrate: off\ncells:\n  - scenario: ping-pong\n"+
		"    transport: [pipe, uds, tcp, shm]\n    payload: [%s]\n", samples, strings.Join(payloads, ","))
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	untilStart(t, program(t, dir, "run", "s.yaml", "--out", "r", "-q", "--events", "-"))
	lines, size = fakeJournal(t, filepath.Join(dir, "r"), rounds)
	return dir, lines, size
}

// A run with a long journal goes on soon, and in little memory: to its first sample 100,000 lines are to take 2 s and 100 MB.
// Here five times as long is let pass.
func TestResumeSpeed(t *testing.T) {
	dir, lines, size := longRun(t, false)
	cmd := program(t, dir, "run", "--resume", "r", "-q", "--events", "-")
	took, there := untilStart(t, cmd)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("%d lines, %d MB: the first sample after %s (%s of CPU time), with %d MB", lines, size/1e6, took.Round(time.Millisecond),
		cpu.Round(time.Millisecond), there/1e6)
	if limit := 5 * max(2*time.Second*time.Duration(lines)/100_000, time.Second); !raceEnabled && took > limit {
		t.Errorf("the first sample after %s, want %s", took, limit)
	}
	if !raceEnabled && there > 100e6 {
		t.Errorf("%d MB at the first sample, want 100", there/1e6)
	}
}

// untilStart runs a program to its first event start, and returns how long that took and how much memory it had by then. Then
// it is killed; its janitor ends the rest.
func untilStart(t *testing.T, cmd *exec.Cmd) (took time.Duration, mem int64) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	events := bufio.NewScanner(out)
	for events.Scan() {
		if strings.Contains(events.Text(), `"event":"start"`) && took == 0 {
			took, mem = time.Since(begun), peak(t, cmd.Process.Pid)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); took == 0 {
		t.Fatalf("%v: %s", err, &errOut)
	}
	return took, mem
}

// A plan of 10,000 cells in 10 rounds is there in a second, and in 100 MB. Here five times as long is let pass.
func TestPlanSpeed(t *testing.T) {
	dir := t.TempDir()
	var payloads, rates []string
	for i := range 50 {
		payloads, rates = append(payloads, fmt.Sprint(8*(i+1))), append(rates, fmt.Sprint(1000*(i+1)))
	}
	suite := "name: wide\nsamples: 10\ncells:\n  - scenario: ping-pong\n    transport: [pipe, uds, tcp, shm]\n    payload: [" +
		strings.Join(payloads, ",") + "]\n    rate: [" + strings.Join(rates, ",") + "]\n"
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, dir, "plan", "s.yaml", "--seed", "1")
	begun := time.Now()
	out, err := cmd.Output()
	took := time.Since(begun)
	if err != nil || !bytes.HasPrefix(out, []byte("suite wide: 10000 cells × 10 samples")) {
		t.Fatalf("%v: %.200s", err, out)
	}
	rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	t.Logf("10000 cells in 10 rounds planned in %s (%s of CPU time), with %d MB", took.Round(time.Millisecond),
		(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Round(time.Millisecond), rss/1e6)
	if raceEnabled {
		return
	}
	if took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if rss > 100e6 {
		t.Errorf("%d MB", rss/1e6)
	}
}
