package floors

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"msgbench/report/internal/golden"
	"msgbench/report/source"
	"msgbench/report/source/sourcetest"
	"msgbench/results"
)

var pp = sourcetest.PingPong

func load(t testing.TB, cells ...sourcetest.Cell) source.Set {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := sourcetest.Write(dir, cells...); err != nil {
		t.Fatal(err)
	}
	s, err := source.Load(dir, results.Columns()...)
	if err != nil {
		t.Fatal(err)
	}
	s.Path = "run"
	return s
}

func check(t testing.TB, set source.Set, yaml string) Report {
	t.Helper()
	list, err := Parse("f.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(set, "f.yaml", list)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// one is a file with one floor.
func one(rest string) string {
	return "floors:\n  - name: x\n    " + strings.ReplaceAll(rest, "; ", "\n    ") + "\n"
}

// noisy: shm is 10 × tcp in every round, though both slow down by half in some.
func noisy() []sourcetest.Cell {
	return []sourcetest.Cell{
		pp("shm", 8, 0, 1000_000, 1010_000, 990_000, 995_000, 1005_000, 600_000),
		pp("tcp", 8, 0, 100_000, 101_000, 99_000, 99_500, 100_500, 60_000),
	}
}

func TestOutcomes(t *testing.T) {
	k := func(n int64) []int64 { return []int64{n, n, n, n, n} }
	set := load(t,
		pp("shm", 8, 0, 1000, 1010, 990, 1005, 995), pp("shm", 8, 500, k(500)...).Timed(10_000, 10_100, 10_200, 10_300, 10_400),
		pp("uds", 8, 0, 10, 20, 40, 80, 160), pp("few", 8, 0, 10, 10, 10), pp("none", 8, 0),
		sourcetest.Cell{Cell: pp("dead", 8, 0).Cell, Failed: "server died"},
	)
	for _, tt := range []struct{ floor, outcome, reason string }{
		{"cell: ping-pong/shm/*/max; metric: throughput; min: 990", Pass, ""}, // the bound itself
		{"cell: ping-pong/shm/*/max; metric: throughput; min: 991", Inconclusive, "the interval holds the floor"},
		{"cell: ping-pong/shm/*/max; metric: throughput; min: 1010", Inconclusive, "the interval holds the floor"},
		{"cell: ping-pong/shm/*/max; metric: throughput; min: 1011", Fail, ""},
		{"cell: ping-pong/shm/*/max; metric: throughput; max: 1010", Pass, ""},
		{"cell: ping-pong/shm/*/max; metric: throughput; max: 1000", Inconclusive, "the interval holds the floor"},
		{"cell: ping-pong/shm/*/max; metric: throughput; max: 989", Fail, ""},
		{"cell: ping-pong/shm/*/max; metric: throughput; min: 900; max: 1100", Pass, ""},
		{"match: {transport: shm, target_rps: 500}; metric: svc_p50_us; max: 10.41", Pass, ""}, // histograms round by 0.1 %
		{"match: {transport: shm, target_rps: 500}; metric: svc_p50_us; max: 9.9", Fail, ""},
		{"match: {transport: shm, target_rps: 500}; metric: svc_p50_us; max: 10.2", Inconclusive, "the interval holds the floor"},
		{"match: {transport: shm, target_rps: max}; metric: lost; max: 0", Pass, ""},
		{"match: {transport: shm, target_rps: max}; metric: samples; min: 6", Fail, ""},
		{"match: {transport: shm, target_rps: max}; metric: total_cpu_pct; max: 80", Pass, ""},
		{"match: {transport: shm, target_rps: max}; metric: svc_p50_us; max: 80", Missing, "not measured: svc_p50_us"},
		{"match: {transport: uds}; metric: throughput; min: 1", Inconclusive, "unstable: core 4.00 > 1.35"},
		{"match: {transport: few}; metric: throughput; min: 1", Inconclusive, "too few samples for an interval: 3, want 5"},
		{"match: {transport: none}; metric: throughput; min: 1", Missing, "skipped: not measured: the run was interrupted"},
		{"match: {transport: dead}; metric: throughput; min: 1", Missing, "failed: server died"},
		{"match: {transport: [shm, dead], payload_bytes: 8, wait: block}; metric: throughput; min: 1", Missing, ""},
		{"match: {scenario: ping-pong}; metric: throughput; min: 2000", Fail, ""},
	} {
		r := check(t, set, one(tt.floor))
		f := r.Floors[0]
		if f.Outcome != tt.outcome || len(f.Cells) == 1 && f.Cells[0].Reason != tt.reason {
			t.Errorf("%s: %s %+v\nwant %s %q", tt.floor, f.Outcome, f.Cells, tt.outcome, tt.reason)
		}
	}
}

func TestRelative(t *testing.T) {
	set := load(t, noisy()...)
	for _, tt := range []struct{ floor, outcome string }{
		{"match: {transport: shm}; metric: throughput; relative_to: {transport: tcp}; min: 9.99", Pass},
		{"match: {transport: shm}; metric: throughput; relative_to: {transport: tcp}; min: 10.01", Fail},
		{"match: {transport: tcp}; metric: throughput; relative_to: {transport: shm}; max: 0.11", Pass},
		{"match: {transport: shm}; metric: sent; relative_to: {transport: tcp}; min: 1", Inconclusive},
	} {
		if f := check(t, set, one(tt.floor)).Floors[0]; f.Outcome != tt.outcome {
			t.Errorf("%s: %s %+v, want %s", tt.floor, f.Outcome, f.Cells, tt.outcome)
		}
	}
	set = load(t, append(noisy(), pp("shm", 64, 0, 1, 1, 1, 1, 1))...)
	f := check(t, set, one("match: {transport: shm}; metric: throughput; relative_to: {transport: tcp}; min: 1")).Floors[0]
	if f.Outcome != Missing || f.Cells[1].Reason != "there is no ping-pong/shm/go-go/64B/max with transport tcp" {
		t.Errorf("without a partner: %s %+v", f.Outcome, f.Cells)
	}
}

// Dimensions at their default may differ from transport to transport; those that are chosen may not.
func TestPartner(t *testing.T) {
	shm, tcp := pp("shm", 8, 0, 9, 9, 9, 9, 9), pp("tcp", 8, 0, 3, 3, 3, 3, 3)
	shm.Defaults = map[string]string{"wait": "hybrid"}
	spin := pp("shm", 8, 0, 18, 18, 18, 18, 18)
	spin.Dims, spin.Defaults = map[string]string{"wait": "spin"}, nil
	set := load(t, shm, spin, tcp)
	r := check(t, set, one("match: {transport: shm, wait: hybrid}; metric: throughput; relative_to: {transport: tcp}; min: 3; max: 3"))
	if f := r.Floors[0]; f.Outcome != Pass || len(f.Cells) != 1 || f.Cells[0].Other != tcp.Key() {
		t.Errorf("%+v", f)
	}
	r = check(t, set, one("match: {wait: spin}; metric: throughput; relative_to: {wait: hybrid}; min: 2; max: 2"))
	if f := r.Floors[0]; f.Outcome != Pass || f.Cells[0].Other != shm.Key() {
		t.Errorf("%+v", f)
	}
}

func TestCSVAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := sourcetest.Write(dir, noisy()...); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, results.JournalFile)); err != nil {
		t.Fatal(err)
	}
	set, err := source.Load(filepath.Join(dir, results.CSVFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ floor, outcome, reason string }{
		{"match: {transport: shm, wait: block}; metric: throughput; min: 1", Pass, ""},
		{"match: {transport: shm}; metric: total_cpu_pct; max: 100", Inconclusive, "no interval of total_cpu_pct: there is no journal beside the CSV"},
		{"match: {transport: shm}; metric: throughput; relative_to: {transport: tcp}; min: 1", Inconclusive, "no ratio round by round: there is no journal beside the CSV"},
	} {
		if f := check(t, set, one(tt.floor)).Floors[0]; f.Outcome != tt.outcome || f.Cells[0].Reason != tt.reason {
			t.Errorf("%s: %+v", tt.floor, f)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{"", "f.yaml: the file is empty: want floors"},
		{"# nothing\n", "f.yaml: the file is empty: want floors"},
		{"floors: []\n", "f.yaml:1: want floors: and a list of them"},
		{"floor:\n", `f.yaml:1: unknown key "floor" (want floors)`},
		{"floors:\n  - name: x\n    nmae: y\n", `f.yaml:3: unknown key "nmae" (want name, match, cell, metric, min, max, relative_to)`},
		{"floors:\n  - name: x\n    name: y\n", `f.yaml:3: the key "name" stands twice`},
		{"floors:\n  - metric: throughput\n", "f.yaml:2: a floor needs a name"},
		{one("metric: throughput; min: 1"), `f.yaml:2: floor "x": want match or cell, which say what it is for`},
		{one("cell: a; metric: throughput"), `f.yaml:2: floor "x": want min or max`},
		{one("cell: a; metric: troughput; min: 1"), `f.yaml:4: floor "x": metric "troughput" is not a column of numbers (payload_bytes, throughput,`},
		{one("cell: a; metric: verdict; min: 1"), `f.yaml:4: floor "x": metric "verdict" is not a column of numbers`},
		{one("cell: a; min: 1"), `f.yaml:2: floor "x": metric "" is not a column of numbers`},
		{one("cell: a; metric: throughput; min: lots"), `f.yaml:5: min: "lots" is not a number`},
		{one("cell: a; metric: throughput; min: .nan"), `f.yaml:5: min: ".nan" is not a number`},
		{one("cell: a; metric: throughput; max: NaN"), `f.yaml:5: max: "NaN" is not a number`},
		{one("cell: a; metric: throughput; min: 2; max: 1"), `f.yaml:5: floor "x": min 2 is above max 1`},
		{one("match: {}; metric: throughput; min: 2"), `f.yaml:3: match: want at least one field`},
		{one("match: {transport: {a: b}}; metric: throughput; min: 2"), `f.yaml:3: match: transport: want a value`},
		{one("cell: a; relative_to: {transport: [a, b]}; metric: throughput; min: 2"), `f.yaml:4: relative_to: transport: want a value`},
		{one("cell: a; metric: throughput; min: 2") + "  - {name: x, cell: b, metric: throughput, min: 1}\n", `f.yaml:6: two floors are named "x": the other one is at line 2`},
		{"floors:\n\t- name: x\n", "f.yaml:2: found character that cannot start any token"},
		{"floors: [\n", "f.yaml:"},
		{"--- {floors: [{name: x, cell: a, metric: lost, max: 0}]}\n--- {}\n", "f.yaml:2: a second document: want one"},
	} {
		list, err := Parse("f.yaml", []byte(tt.yaml))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || list != nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\n%v\nwant %s", tt.yaml, err, tt.want)
		}
	}
}

func TestBindErrors(t *testing.T) {
	set := load(t, noisy()...)
	for _, tt := range []struct{ yaml, want string }{
		{one("cell: nothing/*; metric: throughput; min: 1"), `f.yaml:2: floor "x" matches none of the 2 cells of run`},
		{one("match: {transport: uds}; metric: throughput; min: 1"), `f.yaml:2: floor "x" matches none of the 2 cells of run`},
		{one("match: {transport: [shm, zmqtcp]}; metric: throughput; min: 1"), `f.yaml:3: floor "x": no cell of run has transport zmqtcp`},
		{one("match: {transprt: shm}; metric: throughput; min: 1"), `f.yaml:3: floor "x": unknown field "transprt" (here there are scenario, transport, client, server, payload_bytes, target_rps, wait)`},
		{one("match: {transport: shm}; relative_to: {transport: uds}; metric: throughput; min: 1"),
			`f.yaml:2: floor "x": relative_to matches none of the cells of run: there is no ping-pong/shm/go-go/8B/max with transport uds`},
		{one("match: {transport: shm}; relative_to: {transport: shm}; metric: throughput; min: 1"), `f.yaml:2: floor "x": ping-pong/shm/go-go/8B/max is relative to itself`},
		{one("match: {transport: shm}; metric: throughput; min: 10") + "  - {name: y, cell: '*/shm/*', metric: throughput, max: 9}\n",
			`f.yaml:6: floors "x" and "y" contradict: no throughput of ping-pong/shm/go-go/8B/max can keep both`},
		{one("match: {transport: shm}; relative_to: {transport: tcp}; metric: throughput; min: 5") +
			"  - {name: y, match: {transport: tcp}, relative_to: {transport: shm}, metric: throughput, min: 0.3}\n",
			`f.yaml:7: floors "x" and "y" contradict: no throughput of ping-pong/tcp/go-go/8B/max can keep both`},
	} {
		list, err := Parse("f.yaml", []byte(tt.yaml))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Check(set, "f.yaml", list); err == nil || err.Error() != tt.want {
			t.Errorf("%q:\n%v\nwant %s", tt.yaml, err, tt.want)
		}
	}
	// These only look like contradictions.
	check(t, set, one("match: {transport: shm}; metric: throughput; min: 10")+
		"  - {name: y, cell: '*/tcp/*', metric: throughput, max: 9}\n"+
		"  - {name: z, cell: '*/shm/*', metric: lost, max: 0}\n"+
		"  - {name: v, match: {transport: tcp}, relative_to: {transport: shm}, metric: throughput, min: 0.1, max: 0.2}\n"+
		"  - {name: w, match: {transport: shm}, relative_to: {transport: tcp}, metric: throughput, min: 5, max: 10}\n")
}

const every = `floors:
  - name: shm is fast, 100 % | <sure>
    match: {transport: shm}
    metric: throughput
    min: 900000
  - name: five times tcp
    match: {transport: shm}
    metric: throughput
    relative_to: {transport: tcp}
    min: 5
  - name: tcp must fly
    match: {transport: tcp, client: go}
    metric: throughput
    min: 5000000
  - name: dead
    match: {transport: dead}
    metric: throughput
    min: 1
`

func TestGoldens(t *testing.T) {
	cells := append(noisy(), sourcetest.Cell{Cell: pp("dead", 8, 0).Cell, Failed: "server died: \x01 line\n::error::two"})
	set := load(t, cells...)
	r := check(t, set, every)
	outputs := map[string][]byte{"summary": []byte(StepSummary(r))}
	for _, format := range Formats {
		data, err := Write(r, format)
		if err != nil {
			t.Fatal(err)
		}
		outputs[format] = data
	}
	var err error
	if outputs["init"], err = Init(set, 0.2); err != nil {
		t.Fatal(err)
	}
	for name, got := range outputs {
		golden.Check(t, "floors."+name, got)
	}
	if !json.Valid(outputs["json"]) {
		t.Error("not JSON")
	}
	var suites junitSuites
	if err := xml.Unmarshal(outputs["junit"], &suites); err != nil || len(suites.Suite.Cases) != 4 {
		t.Errorf("JUnit: %v, %d cases", err, len(suites.Suite.Cases))
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(outputs["github"])), "\n") {
		if !strings.HasPrefix(line, "::error file=f.yaml,line=") && !strings.HasPrefix(line, "::warning file=f.yaml,line=") {
			t.Errorf("not an annotation: %q", line)
		}
	}
	// What --init writes keeps its own run.
	list, err := Parse("init", outputs["init"])
	if err != nil {
		t.Fatal(err)
	}
	again, err := Check(set, "init", list)
	if err != nil || again.Count(Pass) != 2 || len(again.Floors) != 2 {
		t.Errorf("%v %s", err, again.Summary())
	}
}

func TestAnnotationsAreTheWorstFew(t *testing.T) {
	var r Report
	for i := range 30 {
		one := float64(i + 1)
		r.Floors = append(r.Floors, Result{Floor: Floor{Name: "f", Metric: "throughput", Min: &[]float64{100}[0]}, Outcome: Fail,
			Cells: []CellResult{{Outcome: Fail, Has: true, Value: one}}})
	}
	text := Annotations(r)
	if n := strings.Count(text, "\n"); n != 10 || !strings.Contains(text, " 1/s") || strings.Contains(text, " 11/s") {
		t.Errorf("%d annotations:\n%s", n, text)
	}
}

// The example in docs is read, and its floors match what they are for.
func TestExample(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "floors.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	shm, lookup := pp("shm", 8, 0, 2e6, 2e6, 2e6, 2e6, 2e6), pp("-", results.NoPayload, 0, 2e7, 2e7, 2e7, 2e7, 2e7)
	shm.Client, shm.Server = "c", "rust"
	back := pp("shm", 8, 0, 2e6, 2e6, 2e6, 2e6, 2e6)
	back.Client, back.Server = "rust", "c"
	lookup.Scenario = "lookup"
	r := check(t, load(t, shm, back, pp("pipe", 8, 0, 5, 5, 5, 5, 5), lookup), string(data))
	if r.Count(Pass) != 3 {
		t.Errorf("%s", asText(r))
	}
}

// So is the one of docs/ci.md.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(data), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	k := []int64{10_000, 10_000, 10_000, 10_000, 10_000}
	set := load(t, pp("shm", 8, 0, 2e6, 2e6, 2e6, 2e6, 2e6), pp("tcp", 8, 0, 1e5, 1e5, 1e5, 1e5, 1e5), pp("uds", 8, 10_000, k...))
	if r := check(t, set, block); r.Count(Pass) != 3 {
		t.Errorf("%s", asText(r))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(every))
	f.Add([]byte("floors: [{name: x, cell: a, metric: lost, max: 0}]"))
	f.Add([]byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := Parse("f", data)
		if (err == nil) == (len(list) == 0) {
			t.Errorf("%d floors, error %v", len(list), err)
		}
	})
}

// Floors made from a flood that drops messages are of what was delivered: who drops more publishes more.
func TestInitOfADroppingBroadcast(t *testing.T) {
	k := func(n int64) []int64 { return []int64{n, n, n, n, n} }
	set := load(t, sourcetest.Flood("zmq-tcp", k(1000), k(100)), sourcetest.Flood("tcp", k(500), k(500)))
	data, err := Init(set, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Parse("floors.yaml", data)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v: %s", err, data)
	}
	for i, want := range []struct {
		metric string
		min    float64
	}{{"messages_per_s", 80}, {"throughput", 400}} {
		if f := list[i]; f.Metric != want.metric || f.Min == nil || *f.Min != want.min || f.Max != nil {
			t.Errorf("%s %s: %+v, want %s ≥ %g", f.Name, f.Metric, f, want.metric, want.min)
		}
	}
	if r := check(t, load(t, sourcetest.Flood("zmq-tcp", k(9000), k(10)), sourcetest.Flood("tcp", k(500), k(500))), string(data)); r.Floors[0].Outcome != Fail {
		t.Errorf("nine times as much published, a tenth delivered: %+v", r.Floors[0])
	}
}
