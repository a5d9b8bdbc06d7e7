package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"msgbench/report/internal/golden"
	"msgbench/report/source"
	"msgbench/report/source/sourcetest"
	"msgbench/results"
	"msgbench/stability"
)

var pp = sourcetest.PingPong

func fixture(t testing.TB) source.Set {
	t.Helper()
	k := []int64{10_000, 10_000, 10_000, 10_000, 10_000}
	spin := pp("uds", 64, 0, 1e6, 1.1e6, 1.05e6, 1.02e6, 1e6)
	spin.Dims, spin.Defaults = map[string]string{"wait": "spin"}, nil
	lookup := pp("-", results.NoPayload, 0, 2e7, 2e7, 2e7, 2e7, 2e7)
	lookup.Scenario = "lookup"
	pipeline := pp("np", 8, 0, 3e5, 3e5, 3e5, 3e5, 3e5)
	pipeline.Scenario, pipeline.Defaults = "pipeline", map[string]string{"depth": "16"}
	dead := sourcetest.Cell{Cell: pp("tcp", 8, 0).Cell, Failed: "died: \"<é\\\n&"}
	return load(t, pp("shm", 8, 0, 1.2e6, 1.23e6, 1.21e6, 1.22e6, 1.2e6).Timed(400), pp("shm", 8, 10_000, k...).Timed(2_000, 2_100, 1_900, 2_000, 2_000),
		spin, lookup, pipeline, dead, pp("pipe", 8, 0, 1, 2, 4, 8, 16))
}

func load(t testing.TB, cells ...sourcetest.Cell) source.Set {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := sourcetest.Write(dir, cells...); err != nil {
		t.Fatal(err)
	}
	s, err := source.Load(dir, Columns("gobench")...)
	if err != nil {
		t.Fatal(err)
	}
	s.Path = "run"
	return s
}

func write(t testing.TB, set source.Set, format string) Result {
	t.Helper()
	r, err := Write(set, format)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGoldens(t *testing.T) {
	set := fixture(t)
	for _, f := range Formats() {
		got := write(t, set, f[0])
		golden.Check(t, "export."+f[0], got.Data)
		left := []string{"ping-pong/tcp/go-go/8B/max: failed: died: \"<é\\ &", "ping-pong/pipe/go-go/8B/max: unstable: core 4.00 > 1.35"}
		if f[0] != "jsonl" && !slices.Equal(got.LeftOut, left) {
			t.Errorf("%s leaves out %q", f[0], got.LeftOut)
		}
	}
}

// Read by the package that benchstat reads with.
func TestGoBench(t *testing.T) {
	set := fixture(t)
	r := benchfmt.NewReader(bytes.NewReader(write(t, set, "gobench").Data), "export")
	lines := map[string]int{}
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.Result:
			lines[rec.Name.String()]++
			if rec.GetConfig("pkg") != "msgbench" || rec.GetConfig("cpu") != "Model 1" || len(rec.Config) != 2 {
				t.Errorf("configuration %v", rec.Config)
			}
			if !strings.HasPrefix(rec.Name.String(), "PingPong/transport=shm/peer=go-go/size=8/rate=max") {
				continue
			}
			if _, parts := rec.Name.Parts(); string(parts[len(parts)-1]) != "-1" || string(parts[1]) != "/peer=go-go" {
				t.Errorf("parts of %s: %q", rec.Name, parts)
			}
			perOp, ok := rec.Value("sec/op")
			p50, ok2 := rec.Value("p50-sec")
			if !ok || !ok2 || math.Abs(perOp-1/float64(rec.Iters)) > 1e-12 || math.Abs(p50-400e-9) > 1e-9 {
				t.Errorf("%d operations in a second: %g s/op, p50 %g s: %v", rec.Iters, perOp, p50, rec.Values)
			}
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	want := map[string]int{
		"PingPong/transport=shm/peer=go-go/size=8/rate=max-1": 5, "PingPong/transport=shm/peer=go-go/size=8/rate=10000-1": 5,
		"PingPong/transport=uds/peer=go-go/size=64/rate=max/wait=spin-1": 5, "Lookup/peer=go-go/rate=max-1": 5,
		"Pipeline/transport=np/peer=go-go/size=8/rate=max-1": 5,
	}
	if fmt.Sprint(lines) != fmt.Sprint(want) {
		t.Errorf("lines %v\nwant %v", lines, want)
	}
	if better := r.Units().GetBetter("ops/s"); better != 1 {
		t.Errorf("ops/s: better %d", better)
	}
}

func TestGoBenchNeedsTheJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := sourcetest.Write(dir, pp("shm", 8, 0, 5, 5, 5, 5, 5)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, results.JournalFile)); err != nil {
		t.Fatal(err)
	}
	set, err := source.Load(filepath.Join(dir, results.CSVFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(set, "gobench"); err == nil || !strings.HasSuffix(err.Error(), "gobench has a line a sample: there is no journal beside the CSV") {
		t.Error(err)
	}
	for _, f := range Formats()[1:] {
		if write(t, set, f[0]).Rows != 1 {
			t.Errorf("%s: not one row", f[0])
		}
	}
}

func TestJSONLines(t *testing.T) {
	set := fixture(t)
	lines := bytes.Split(bytes.TrimSuffix(write(t, set, "jsonl").Data, []byte("\n")), []byte("\n"))
	if len(lines) != len(set.Cells) {
		t.Fatalf("%d lines, want %d", len(lines), len(set.Cells))
	}
	for i, line := range lines {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		row := set.Cells[i].Row
		for _, c := range results.Columns() {
			text, _ := row.Text(c)
			got, there := m[c]
			switch v := got.(type) {
			case nil:
				if !there || text != "" {
					t.Errorf("%s: null or missing, want %q", c, text)
				}
			case float64:
				if strconv.FormatFloat(v, 'f', -1, 64) != text {
					t.Errorf("%s: %v, want %s", c, v, text)
				}
			case string:
				if v != text {
					t.Errorf("%s: %q, want %q", c, v, text)
				}
			}
		}
	}
}

func TestNetipc(t *testing.T) {
	set := fixture(t)
	recs, err := csv.NewReader(bytes.NewReader(write(t, set, "netipc").Data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range recs[1:] {
		names = append(names, r[0]+" "+r[3])
		for _, f := range r[3:] {
			if _, err := strconv.ParseFloat(f, 64); err != nil {
				t.Error(err)
			}
		}
	}
	if len(recs[0]) != 11 || !slices.Equal(names, []string{"shm-ping-pong 0", "shm-ping-pong 10000", "uds-ping-pong 0", "lookup 0", "np-pipeline-d16 0"}) {
		t.Errorf("%d columns, rows %q", len(recs[0]), names)
	}
	if recs[2][5] != "2.000" {
		t.Errorf("p50 %s at a fixed rate, want that of the service time", recs[2][5])
	}
	k := []int64{5, 5, 5, 5, 5}
	if _, err := Write(load(t, pp("shm", 8, 0, k...), pp("shm", 64, 0, k...)), "netipc"); err == nil ||
		err.Error() != "run: ping-pong/shm/go-go/8B/max and ping-pong/shm/go-go/64B/max are one row in netipc's columns: choose with --cell" {
		t.Error(err)
	}
}

func TestGitHub(t *testing.T) {
	set := fixture(t)
	for format, want := range map[string]int{"github-bigger": 4, "github-smaller": 4 + 6 + 0} {
		var list []entry
		dec := json.NewDecoder(bytes.NewReader(write(t, set, format).Data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&list); err != nil {
			t.Fatal(err)
		}
		if format == "github-bigger" && len(list) != want {
			t.Errorf("%s: %d entries, want %d", format, len(list), want)
		}
		names := map[string]bool{}
		for _, e := range list {
			if e.Name == "" || e.Unit == "" || names[e.Name] {
				t.Errorf("%s: entry %+v", format, e)
			}
			names[e.Name] = true
		}
	}
}

// The grammar of OpenMetrics 1.0: metadata before the samples of its family, families in one piece, units at the end of
// names, labels once and escaped, # EOF last. TestOpenMetricsPython asks a parser of others.
func TestOpenMetrics(t *testing.T) {
	data := string(write(t, fixture(t), "openmetrics").Data)
	if !strings.HasSuffix(data, "\n# EOF\n") || strings.Count(data, "# EOF") != 1 {
		t.Error("want # EOF in the last line only")
	}
	meta := regexp.MustCompile(`^# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$`)
	sample := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\S+)$`)
	label := regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="(?:[^"\\\n]|\\["\\n])*"`)
	family, kind := "", ""
	done := map[string]bool{}
	series := map[string]bool{}
	for i, line := range strings.Split(strings.TrimSuffix(data, "# EOF\n"), "\n") {
		if line == "" {
			continue
		}
		if m := meta.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case "TYPE":
				if done[m[2]] {
					t.Errorf("line %d: family %s in two pieces", i+1, m[2])
				}
				family, kind = m[2], m[3]
				done[family] = true
				if kind != "gauge" && kind != "info" {
					t.Errorf("line %d: type %s", i+1, kind)
				}
			case "UNIT":
				if !strings.HasSuffix(m[2], "_"+m[3]) {
					t.Errorf("line %d: unit %s does not end %s", i+1, m[3], m[2])
				}
			}
			if m[2] != family {
				t.Errorf("line %d: metadata of %s within %s", i+1, m[2], family)
			}
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %d: neither metadata nor sample: %q", i+1, line)
		}
		want := family
		if kind == "info" {
			want += "_info"
		}
		if v, err := strconv.ParseFloat(m[3], 64); err != nil || math.IsNaN(v) || math.IsInf(v, 0) || m[1] != want || kind == "info" && v != 1 {
			t.Errorf("line %d: %s = %s in family %s", i+1, m[1], m[3], family)
		}
		names := map[string]bool{}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			if names[l[1]] {
				t.Errorf("line %d: label %s stands twice", i+1, l[1])
			}
			names[l[1]] = true
		}
		if series[m[1]+m[2]] {
			t.Errorf("line %d: the same series twice", i+1)
		}
		series[m[1]+m[2]] = true
	}
	if !strings.Contains(data, `msgbench_p50_seconds{cell="ping-pong/shm/go-go/8B/max",scenario="ping-pong",transport="shm",client="go",server="go",payload_bytes="8",target_rps="max",machine="desk"} 4e-07`) {
		t.Error("no p50 in seconds")
	}
}

// Whatever the text of a row is, every format stays one that its readers can read.
func TestHostileText(t *testing.T) {
	bad := "=cmd|' /C\"\\\n<script>,é\xff;{}\u2028"
	row := results.Row{Cell: bad, Scenario: bad, Transport: bad, Client: bad, Server: bad, TargetRPS: "max", Machine: bad, Options: bad,
		Throughput: results.N(5), Verdict: results.Stable, Source: bad}
	set := source.Set{Path: bad, Run: results.Run{Facts: []results.Fact{{Key: "cpu", Value: bad}}},
		Cells: []source.Cell{{Judged: stability.Judged{Row: row, Cell: results.Cell{Scenario: bad, Transport: bad, Client: bad, Server: bad}}}}}
	for _, f := range Formats() {
		data := write(t, set, f[0]).Data
		switch f[0] {
		case "jsonl", "github-bigger", "github-smaller":
			if !json.Valid(data) {
				t.Errorf("%s: %s", f[0], data)
			}
		case "netipc":
			recs, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
			if err != nil || len(recs) != 2 || recs[1][1][0] != '\'' {
				t.Errorf("netipc: %v %q", err, recs)
			}
		case "openmetrics":
			if n := strings.Count(string(data), "\n"); n != 2+1+3+1 || strings.Contains(string(data), "\xff") {
				t.Errorf("openmetrics: %d lines: %s", n, data)
			}
		case "gobench":
			r := benchfmt.NewReader(bytes.NewReader(data), "")
			for r.Scan() {
				if e, ok := r.Result().(*benchfmt.SyntaxError); ok {
					t.Error(e)
				}
			}
		}
	}
}

// The parser of the people who wrote OpenMetrics down is in Python. (Prometheus' own is in Go, but as a module it is 42 MB and
// seven others, for one test; expfmt only writes OpenMetrics.)
func TestOpenMetricsPython(t *testing.T) {
	python := "/usr/bin/python3" // the distribution's, which its package is for; another one may come first in PATH
	if err := exec.Command(python, "-c", "import prometheus_client").Run(); err != nil {
		if os.Getenv("MSGBENCH_NEED_PEERS") != "" {
			t.Fatalf("python3-prometheus-client: %v", err)
		}
		t.Skip("there is no python3-prometheus-client; scripts/test installs it")
	}
	set := fixture(t)
	set.Cells[0].Row.Client = "a\"b\\c" // what has to be escaped
	data := write(t, set, "openmetrics").Data
	read := func(data []byte) ([]byte, error) {
		cmd := exec.Command(python, "-c", `
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
print(json.dumps([[f.name, f.type, f.unit, s.name, s.labels, s.value] for f in parse(sys.stdin.read()) for s in f.samples]))`)
		cmd.Stdin = bytes.NewReader(data)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, stderr.String())
		}
		return out, err
	}
	out, err := read(data)
	if err != nil {
		t.Fatal(err)
	}
	var samples [][6]any
	if err := json.Unmarshal(out, &samples); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	if len(samples) != lines || lines < 20 {
		t.Errorf("%d samples of %d lines", len(samples), lines)
	}
	found := false
	for _, s := range samples {
		labels := s[4].(map[string]any)
		if labels["client"] == set.Cells[0].Row.Client && s[3] == "msgbench_throughput_operations_per_second" && s[1] == "gauge" {
			want, _ := set.Cells[0].Row.Throughput.Value()
			found = s[5] == want
		}
	}
	if !found {
		t.Errorf("the throughput of the first row is not there as it was: %s", out)
	}
	if _, err := read(bytes.TrimSuffix(data, []byte("# EOF\n"))); err == nil {
		t.Error("the parser takes a file that was cut short, so it says nothing")
	}
}

// What a broadcast published is worth nothing where it was dropped.
func TestGitHubOfADroppingBroadcast(t *testing.T) {
	k := func(n int64) []int64 { return []int64{n, n, n, n, n} }
	got := string(write(t, load(t, sourcetest.Flood("zmq-tcp", k(1000), k(100)), sourcetest.Flood("tcp", k(500), k(500))), "github-bigger").Data)
	var list []struct {
		Unit, Range string
		Value       float64
	}
	if err := json.Unmarshal([]byte(got), &list); err != nil || len(list) != 2 {
		t.Fatalf("%v: %s", err, got)
	}
	if e := list[0]; e.Value != 100 || e.Unit != "messages/s" || e.Range != "" {
		t.Errorf("1000 published, 100 delivered: %+v", e)
	}
	bench := string(write(t, load(t, sourcetest.Flood("zmq-tcp", k(1000), k(100))), "gobench").Data)
	if strings.Count(bench, " 1000 ops/s 100 messages/s") != 5 {
		t.Errorf("1000 published, 100 delivered:\n%s", bench)
	}
	if e := list[1]; e.Value != 500 || e.Unit != "messages/s" || e.Range == "" {
		t.Errorf("500 published, all of them delivered: %+v", e)
	}
}
