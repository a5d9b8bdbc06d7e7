package results

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"msgbench/results/hist"
)

// three samples of every sort: measured, rejected and failed.
func three() []Sample {
	latency, late := hist.New(), hist.New()
	for i := range int64(50) {
		latency.Record(10_000 + 37*i)
		late.Record(i)
	}
	return []Sample{
		{
			Version: FormatVersion, Cell: "ping-pong/uds/go-go/64B/10000", Started: time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC), Outcome: OK,
			Measurement: &Measurement{
				Loop: Paced, LatencyKind: Response, WarmupNs: 2e8, WarmupOps: 2000, WindowNs: 5e9, Ops: 50, Messages: 50, PayloadBytes: 3200,
				Sent: 50, Received: 50, Latency: latency, Service: latency, Lateness: late, Thirds: []int64{17, 16, 17},
				CPUNs: map[string]int64{Client: 1e9, Server: 0}, PacerNs: 5e8, RequestBytes: 96, ResponseBytes: 96, Hops: 1,
				GC: map[string]int64{Client: 1}, Mallocs: map[string]int64{Client: 3}, RSS: map[string]int64{Server: 9e6},
				Facts: map[string]string{"wait": "block", "socket": "SEQPACKET"},
			},
			Placement: map[string]Placement{Client: {PID: 12, Asked: []int{0}, Allowed: []int{0}}, Server: {PID: 13, Asked: []int{1}, Allowed: []int{1}}},
			Relation:  "core", WallNs: 54e8,
		},
		{
			Version: FormatVersion, Cell: "ping-pong/uds/go-go/64B/10000", Order: 1, Round: 1, Try: 1, Outcome: Rejected, Reason: "schedule not kept",
			Measurement: &Measurement{WindowNs: 1, Ops: 1},
		},
		{
			Version: FormatVersion, Cell: "ping-pong/shm/go-go/64B/max", Order: 2, Round: 1, Attempt: 1, Outcome: Failed, Reason: "server: killed",
			Stderr: map[string]string{Server: "panic: x\nline two"},
		},
	}
}

// others are the lines of a journal that are no samples of what was asked for.
func others() []Sample {
	return []Sample{
		{Version: FormatVersion, Cell: CalibrationCell, Round: 2, Outcome: Calibrated,
			Calibration: &Calibration{LineNs: 98.5, PipeNs: 5210, LineTrips: 500_000, PipeTrips: 9000}},
		{Version: FormatVersion, Cell: CalibrationCell, Order: 1, Round: 3, Outcome: Calibrated, Reason: "client: killed",
			Calibration: &Calibration{Of: "shard 1/2 on a"}},
		{
			Version: FormatVersion, Cell: "ping-pong/shm/go-go/64B/max", Order: 2, Round: 3, Outcome: Disturbed, Reason: "steal 8.0 %",
			Measurement: &Measurement{WindowNs: 1, Ops: 1},
			Interference: &Interference{SpanNs: 8e8, CPUs: []int{0, 1}, ShareNs: 16e8, StealNs: 128e6, StepNs: 4e7, Limit: 0.05, Disturbed: true,
				Switches: map[string]int64{Client: 3}, KHz: []int64{3_000_000, 2_900_000}},
		},
	}
}

// write appends the samples to a new journal and returns its path and bytes.
func write(t testing.TB, samples []Sample) (path string, data []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), JournalFile)
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		if err := j.Append(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	data, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}

func equal(a, b []Sample) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		// As JSON: a histogram is dense when recorded and sparse when read.
		if !bytes.Equal(mustJSON(a[i]), mustJSON(b[i])) {
			return false
		}
	}
	return true
}

func TestJournalRoundTrip(t *testing.T) {
	all := append(three(), others()...)
	path, _ := write(t, all)
	got, cut, err := ReadJournal(path)
	if err != nil || cut != 0 {
		t.Fatal(cut, err)
	}
	if !equal(got, all) {
		t.Errorf("read back %+v", got)
	}
	if p := got[0].Placement[Server]; !reflect.DeepEqual(p, three()[0].Placement[Server]) {
		t.Errorf("placement %+v", p)
	}
	if v, ok := got[0].Measurement.CPUNs[Server]; !ok || v != 0 {
		t.Error("a CPU time of 0 became one that was not measured")
	}
}

// Cut at any byte: every whole sample is there, and the rest is told.
func TestJournalCutAnywhere(t *testing.T) {
	_, data := write(t, three())
	want, _, err := ParseJournal(data) // sparse histograms compare faster
	if err != nil || !equal(want, three()) {
		t.Fatal(err)
	}
	for n := range len(data) + 1 {
		got, cut, err := ParseJournal(data[:n])
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
		whole := bytes.Count(data[:n], []byte("\n"))
		rest := n - (bytes.LastIndexByte(data[:n], '\n') + 1)
		if !equal(got, want[:whole]) || cut != rest {
			t.Fatalf("cut after %d bytes: %d samples and %d bytes left out, want %d and %d", n, len(got), cut, whole, rest)
		}
	}
}

// Going on after a cut at any byte gives a journal as if the cut line had never been begun.
func TestJournalGoesOnAfterCut(t *testing.T) {
	_, data := write(t, three())
	want, _, err := ParseJournal(data)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), JournalFile)
	for n := range len(data) + 1 {
		if err := os.WriteFile(path, data[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		j, err := OpenJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		if n%50 == 0 { // Close takes an fsync, so not for every byte
			err = errors.Join(j.Append(want[2]), j.Close())
		} else {
			err = errors.Join(j.Append(want[2]), j.f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		got, cut, err := ReadJournal(path)
		whole := bytes.Count(data[:n], []byte("\n"))
		if err != nil || cut != 0 || !equal(got, append(want[:whole:whole], want[2])) {
			t.Fatalf("cut after %d bytes: %d samples, %d bytes left out, %v; want %d samples", n, len(got), cut, err, whole+1)
		}
	}
}

// A cut line may be longer than the block that is searched for its begin.
func TestJournalDropsLongCut(t *testing.T) {
	_, data := write(t, three())
	path := filepath.Join(t.TempDir(), JournalFile)
	for _, c := range []struct {
		name string
		head []byte
	}{{"after samples", data}, {"alone", nil}} {
		for _, n := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 200_000} {
			if err := os.WriteFile(path, append(c.head[:len(c.head):len(c.head)], bytes.Repeat([]byte("x"), n)...), 0o644); err != nil {
				t.Fatal(err)
			}
			j, err := OpenJournal(path)
			if err != nil {
				t.Fatal(err)
			}
			j.Close()
			if got, _ := os.ReadFile(path); !bytes.Equal(got, c.head) {
				t.Errorf("%s, cut line of %d bytes: %d bytes left, want %d", c.name, n, len(got), len(c.head))
			}
		}
	}
}

func TestJournalTwoWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), JournalFile)
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(path); err == nil || !strings.HasPrefix(err.Error(), path+": another msgbench writes it") {
		t.Errorf("the second writer got %v", err)
	}
	if err := j.Append(three()[2]); err != nil {
		t.Errorf("the first one can't go on: %v", err)
	}
	j.Close()
	j, err = OpenJournal(path)
	if err != nil {
		t.Fatalf("still locked after Close: %v", err)
	}
	j.Close()
}

func TestOpenJournalWithoutFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", JournalFile)
	if _, err := OpenJournal(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v does not name %s", err, path)
	}
	if _, _, err := ReadJournal(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}

func TestBadJournal(t *testing.T) {
	_, data := write(t, three())
	first := strings.SplitAfter(string(data), "\n")[0]
	change := func(old, new string) string {
		if !strings.Contains(first, old) {
			t.Fatalf("%q is not in %s", old, first)
		}
		return first + strings.Replace(first, old, new, 1)
	}
	other := func(i int, old, new string) string {
		line := string(mustJSON(others()[i]))
		if !strings.Contains(line, old) {
			t.Fatalf("%q is not in %s", old, line)
		}
		return strings.Replace(line, old, new, 1) + "\n"
	}
	for _, c := range []struct{ name, text, want string }{
		{"blank line", first + "\n" + first, "line 2: not a sample: unexpected end of JSON input"},
		{"nonsense", "hello\n", "line 1: not a sample: invalid character 'h'"},
		{"two in a line", first + "{}{}\n", "line 2: not a sample: invalid character '{'"},
		{"another version", change(`"v":1`, `"v":2`), "line 2: sample version 2, this msgbench reads 1"},
		{"no cell", change(`"cell":"ping-pong/uds/go-go/64B/10000"`, `"cell":""`), "line 2: sample without a cell"},
		{"negative round", change(`"round":0`, `"round":-1`), "line 2: order 0, round -1, attempt 0, try 0: want 0 or more"},
		{"outcome", change(`"outcome":"ok"`, `"outcome":"good"`), `line 2: outcome "good": want ok, rejected, disturbed, failed, skipped, step or calibration`},
		{"no reason", change(`"outcome":"ok"`, `"outcome":"failed"`), "line 2: failed sample without a reason"},
		{"no measurement", change(`"measurement":`, `"other":`), "line 2: ok sample without a measurement"},
		{"no window", change(`"window_ns":5000000000`, `"window_ns":0`), "line 2: window_ns is 0, want more than 0"},
		{"negative window", change(`"window_ns":5000000000`, `"window_ns":-1`), "line 2: window_ns is -1, want more than 0"},
		{"no operation", change(`"ops":50`, `"ops":0`), "line 2: no operation in the window"},
		{"negative operations", change(`"ops":50`, `"ops":-50`), "line 2: ops is -50, want 0 or more"},
		{"negative count", change(`"sent":50`, `"sent":-1`), "line 2: sent is -1, want 0 or more"},
		{"overflow", change(`"sent":50`, `"sent":9223372036854775808`), "line 2: not a sample: json: cannot unmarshal number 9223372036854775808"},
		{"negative CPU", change(`"client":1000000000`, `"client":-1`), "line 2: cpu_ns of the client is -1, want 0 or more"},
		{"two thirds", change(`[17,16,17]`, `[17,16]`), "line 2: thirds has 2 values, want 3"},
		{"histogram", change(`"values":[[10000,1]`, `"values":[[10000,0]`), "line 2: not a sample: histogram: count 0 at 10000 ns"},
		{"calibration without figures", other(0, `"calibration":{`, `"more":{`), "line 1: calibration without its figures"},
		{"calibration without one figure", other(0, `"pipe_ns":5210`, `"pipe_ns":0`), "line 1: calibration without a figure and without a reason"},
		{"calibration below 0", other(0, `"pipe_ns":5210`, `"pipe_ns":-1`), "line 1: calibration: a time below 0"},
		{"disturbed by nothing", other(2, `"interference":`, `"more":`), "line 1: disturbed sample without its interference"},
		{"disturbed and not measured", other(2, `"measurement":`, `"other":`), "line 1: disturbed sample without a measurement"},
		{"no span", other(2, `"span_ns":800000000`, `"span_ns":0`), "line 1: interference: span_ns 0, share_ns 1600000000: want more than 0"},
		{"negative steal", other(2, `"steal_ns":128000000`, `"steal_ns":-1`), "line 1: interference: a time or a limit below 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := ParseJournal([]byte(c.text))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v\nwant %s…", err, c.want)
			}
			if got != nil {
				t.Error("part of a bad journal was read")
			}
		})
	}
}

func TestBadJournalNamesFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), JournalFile)
	if err := os.WriteFile(path, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadJournal(path); err == nil || err.Error() != path+": line 1: sample version 0, this msgbench reads 1" {
		t.Errorf("%v", err)
	}
}

func TestNegativeLatency(t *testing.T) {
	m := three()[0].Measurement
	m.Latency.Record(-2)
	if err := m.Check(); err == nil || err.Error() != "a latency of -2 ns: the clocks of the two sides do not agree" {
		t.Errorf("%v", err)
	}
}

func FuzzParseJournal(f *testing.F) {
	_, data := write(f, three())
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add([]byte("{}\n"))
	f.Add([]byte("\n"))
	f.Add([]byte(`{"v":1,"cell":"c","outcome":"ok","measurement":{"window_ns":1,"ops":1,"latency_hist":null}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, cut, err := ParseJournal(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("%q does not name the line", err)
			}
			return
		}
		if rest := len(data) - (bytes.LastIndexByte(data, '\n') + 1); cut != rest {
			t.Errorf("%d bytes left out, want %d", cut, rest)
		}
		var again []byte
		for _, s := range got {
			again = append(append(again, mustJSON(s)...), '\n')
		}
		read, cut, err := ParseJournal(again)
		// An empty histogram is written as null, and that is read as none.
		if err != nil || cut != 0 || !bytes.Contains(again, []byte(`_hist":null`)) && !equal(read, got) {
			t.Errorf("%v in what was written: %s", err, again)
		}
	})
}
