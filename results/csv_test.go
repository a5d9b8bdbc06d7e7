package results

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// full has a value in every column; bare has the words that a row can't do without.
func full() Row {
	return Row{
		Cell: "ping-pong/zmq-tcp/go-libzmq/64B/10000/wait=spin", Scenario: "ping-pong", Transport: "zmq-tcp", Client: "go", Server: "libzmq",
		Payload: N(64), Loop: Paced, TargetRPS: "10000", Wait: "spin", Mode: "window", Depth: "16", Subscribers: "4", Scope: "stack",
		Options:    `nodelay=on;socket=REQ, "REP"`,
		Throughput: N(9998.4), ThroughputLo: N(9990), ThroughputHi: N(10000.1234), MessagesPerS: N(9998.4), MBPerS: N(0.63989),
		PeakPerS: N(10050), Sustained: N(9999), PeakMBPerS: N(0.643), SustainedMB: N(0.64), Ceiling: N(15000), CeilingFails: N(15400),
		Latency: Response, LatencyError: N(0.067), MinUs: N(30.01), MinLo: N(30.01), MinHi: N(31.5), MeanUs: N(45.5555), P50Us: N(44),
		P50Lo: N(43.9), P50Hi: N(44.2), P90Us: N(60), P95Us: N(71),
		P99Us: N(120.5), P99Lo: N(110), P99Hi: N(150), P999Us: N(300), MaxUs: N(812.345),
		SvcP50Us: N(43.5), SvcP95Us: N(70), SvcP99Us: N(119), LateP99: N(25),
		ClientCPU: N(20.5), ServerCPU: N(18.25), BrokerCPU: N(0), PacerCPU: N(60), TotalCPU: N(38.75), CPUNsOp: N(38750),
		Sent: N(249960), Received: N(249960), Lost: N(0), Duplicated: N(0), Reordered: N(0),
		Samples: N(5), CoreSamples: N(3), CoreRatio: N(1.02), RawRatio: N(1.4), DriftPct: N(-0.5), Trend: Falling,
		RoutedPeak: N(10060), RoutedSteady: N(9999), StealPct: N(0.4), ForeignPct: N(3.25), Disturbed: N(2), DisturbedKept: N(1),
		Hops: N(1), RequestBytes: N(98), ResponseBytes: N(98), RSSBytes: N(12582912), RSSSlope: N(-0.25),
		Pin: "default", CPURelation: "core", Machine: "desk, 8 cores", Source: "measured", Verdict: Oversubscribed,
		Reason: "delivered 9.99k of 10k/s, \"capacity\" 9k/s",
	}
}

func bare() Row {
	return Row{
		Cell: "lookup/-/go-go/-/max", Scenario: "lookup", Transport: "-", Client: "go", Server: "go", Loop: Closed, TargetRPS: "max",
		Samples: N(0), Source: "measured", Verdict: Skipped, Reason: "not measured: the run was interrupted",
	}
}

func table() Table {
	return Table{
		Facts: []Fact{{"machine", "desk, 8 cores"}, {"suite", "quick"}, {"seed", "42"}, {"note", "a: b # c"}, {"empty", ""}},
		Rows:  []Row{full(), bare()},
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s\nwant\n%s", path, got, want)
	}
}

func TestCSVGolden(t *testing.T) {
	data, err := table().MarshalCSV()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "results.csv.golden", data)
	read, err := ParseCSV("x.csv", data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, table()) {
		t.Errorf("read back %+v", read)
	}
	if read.Fact("seed") != "42" || read.Fact("none") != "" {
		t.Error("facts by key are wrong")
	}
}

// The full row leaves no field empty, so that the golden file shows every column.
func TestFullRowIsFull(t *testing.T) {
	v := reflect.ValueOf(full())
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("field %s has no value", v.Type().Field(i).Name)
		}
	}
}

func TestCSVWithoutRows(t *testing.T) {
	data, err := Table{}.MarshalCSV()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseCSV("x", data); err != nil || len(got.Rows)+len(got.Facts) != 0 {
		t.Errorf("%+v %v", got, err)
	}
}

// A file of before the latest columns is read; what it lacks was not measured.
func TestCSVOfAnEarlierMsgbench(t *testing.T) {
	data, err := os.ReadFile("testdata/earlier.csv")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseCSV("x", data)
	want := table()
	for i := range want.Rows {
		r := &want.Rows[i]
		r.Trend = ""
		r.StealPct, r.ForeignPct, r.Disturbed, r.DisturbedKept, r.RoutedPeak, r.RoutedSteady = Num{}, Num{}, Num{}, Num{}, Num{}, Num{}
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, want)
	}
	short := bytes.Replace(data, []byte(",skipped,"), []byte(","), 1)
	if _, err := ParseCSV("x", short); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("x:9: want %d fields", len(Columns())-len(laterColumns))) {
		t.Errorf("%v", err)
	}
}

func TestCSVAcceptsWindowsLines(t *testing.T) {
	data, _ := table().MarshalCSV()
	got, err := ParseCSV("x", bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	if err != nil || !reflect.DeepEqual(got, table()) {
		t.Errorf("%+v %v", got, err)
	}
}

// Editors put a mark at the start that nobody sees.
func TestCSVWithByteOrderMark(t *testing.T) {
	data, _ := table().MarshalCSV()
	got, err := ParseCSV("x", append([]byte("\ufeff"), data...))
	if err != nil || !reflect.DeepEqual(got, table()) {
		t.Errorf("%+v %v", got, err)
	}
}

// What is not UTF-8 would make pages and JSON of it invalid: it is refused, and what a peer wrote is not written so.
func TestCSVIsUTF8(t *testing.T) {
	broken := table()
	broken.Rows[1].Reason = "stderr: caf\xe9"
	data, err := broken.MarshalCSV()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseCSV("x", data)
	if err != nil || got.Rows[1].Reason != "stderr: caf\ufffd" {
		t.Errorf("%v %+v", err, got.Rows)
	}
	data = bytes.Replace(data, []byte("\ufffd"), []byte{0xe9}, 1)
	line := 1 + bytes.Count(data[:bytes.IndexByte(data, 0xe9)], []byte("\n"))
	if _, err := ParseCSV("x", data); err == nil || err.Error() != fmt.Sprintf("x:%d: want text in UTF-8", line) {
		t.Errorf("%v, want line %d", err, line)
	}
}

// Any words and numbers come back as they were.
func TestCSVRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	words := []string{"", "a", "a,b", `say "x"`, "ü·µ", "#x", " lead", "trail ", "1=1", "-", "|;"}
	for range 300 {
		row := full()
		v := reflect.ValueOf(&row).Elem()
		for i := range v.NumField() {
			switch f := v.Field(i).Addr().Interface().(type) {
			case *Num:
				*f = Num{}
				if r.IntN(4) > 0 {
					*f = N(r.Float64() * math.Pow(10, float64(r.IntN(25)-4)))
				}
			case *string:
				if name := v.Type().Field(i).Name; name != "Verdict" && name != "TargetRPS" && name != "Cell" && name != "Trend" {
					*f = words[r.IntN(len(words))]
				}
			}
		}
		want := Table{Rows: []Row{row, bare(), row}}
		data, err := want.MarshalCSV()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseCSV("x", data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\ngot  %+v\nwant %+v\n%s", err, got.Rows, want.Rows, data)
		}
	}
}

func TestMarshalCSVRefusesKey(t *testing.T) {
	_, err := Table{Facts: []Fact{{"a: b", "c"}}}.MarshalCSV()
	if want := `fact "a: b": a key holds no colon and no line feed`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestMarshalCSVFoldsLines(t *testing.T) {
	data, err := Table{Facts: []Fact{{"cpu", "two\nlines\r\n and  blanks "}}}.MarshalCSV()
	if err != nil || !bytes.Contains(data, []byte("# cpu: two lines and blanks\n")) {
		t.Errorf("%s %v", data, err)
	}
}

func TestBadCSV(t *testing.T) {
	good, err := table().MarshalCSV()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(good), "\n") // 1: version, 2 to 6: facts, 7: header, 8 and 9: rows
	header := strings.TrimSuffix(lines[6], "\n")
	swap := func(old, new string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("%q is not in the good file", old)
		}
		return strings.Replace(string(good), old, new, 1)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty file", "", `f.csv:1: want "# msgbench-results: 1", the first line of a results file`},
		{"another file", "a,b\n1,2\n", `f.csv:1: want "# msgbench-results: 1", the first line of a results file`},
		{"another version", swap("results: 1", "results: 2"), `f.csv:1: want "# msgbench-results: 1", the first line of a results file`},
		{"another first fact", swap("msgbench-results", "results"), `f.csv:1: want "# msgbench-results: 1", the first line of a results file`},
		{"fact without colon", swap("# suite: quick", "# suite quick"), `f.csv:3: want "# key: value"`},
		{"cut in the first line", "# msgbench-results: 1", "f.csv:1: the file ends in a line of facts: it was cut short"},
		{"cut in a fact", strings.Join(lines[:3], "") + "# see", "f.csv:4: the file ends in a line of facts: it was cut short"},
		{"cut after a fact", strings.Join(lines[:4], ""), "f.csv:5: want the line of column names"},
		{"cut in the header", strings.Join(lines[:6], "") + "cell,scen", "f.csv:7: no line feed at the end: the file was cut short"},
		{"missing column", swap(",p99_us,", ","), `f.csv:7: column "p99_us" is missing`},
		{"missing last column", swap(",verdict,reason\n", ",verdict\n"), `f.csv:7: column "reason" is missing`},
		{"doubled column", swap(",p99_us,", ",p95_us,"), `f.csv:7: column "p95_us" stands twice`},
		{"unknown column", swap(",p99_us,", ",p98_us,"), `f.csv:7: unknown column "p98_us"`},
		{"further column", swap(header, header+",more"), `f.csv:7: unknown column "more"`},
		{"row cut short", swap(",measured,skipped,not measured: the run was interrupted", ",measured"),
			"f.csv:9: want 79 fields: the row was cut short or has too many"},
		{"row too long", swap("was interrupted\n", "was interrupted,1\n"), "f.csv:9: want 79 fields: the row was cut short or has too many"},
		{"last row cut in a word", strings.TrimSuffix(string(good), "rupted\n"), "f.csv:9: no line feed at the end: the file was cut short"},
		{"last line feed missing", strings.TrimSuffix(string(good), "\n"), "f.csv:9: no line feed at the end: the file was cut short"},
		{"cut within quotes, at a line feed", strings.Join(lines[:7], "") + "\"ping\n", `f.csv:8: extraneous or missing " in quoted-field`},
		{"stray quote", swap(",stack,", `,st"ack,`), `f.csv:8: bare " in non-quoted-field`},
		{"NaN", swap("9998.4,9990", "NaN,9990"), `f.csv:8: column throughput: "NaN" is not a number`},
		{"below 0", swap("9998.4,9990", "-9998.4,9990"), `f.csv:8: column throughput: -9998.4 is below 0`},
		{"Inf", swap("9998.4,9990", "+Inf,9990"), `f.csv:8: column throughput: "+Inf" is not a number`},
		{"too large", swap("9998.4,9990", "1e999,9990"), `f.csv:8: column throughput: "1e999" is not a number`},
		{"hexadecimal", swap("9998.4,9990", "0x10,9990"), `f.csv:8: column throughput: "0x10" is not a number`},
		{"underscore", swap("9998.4,9990", "1_000,9990"), `f.csv:8: column throughput: "1_000" is not a number`},
		{"blank", swap("9998.4,9990", " 9998.4,9990"), `f.csv:8: column throughput: " 9998.4" is not a number`},
		{"not a number", swap("9998.4,9990", "fast,9990"), `f.csv:8: column throughput: "fast" is not a number`},
		{"bad number in the last row", swap(",0,,,,,,,,,,,,,,,,,,measured,skipped", ",zero,,,,,,,,,,,,,,,,,,measured,skipped"),
			`f.csv:9: column samples: "zero" is not a number`},
		{"unknown trend", swap(",falling,", ",sinking,"), `f.csv:8: column trend: "sinking" is neither falling nor rising`},
		{"unknown verdict", swap("measured,skipped", "measured,good"), `f.csv:9: column verdict: "good" is not a verdict`},
		{"no verdict", swap("measured,skipped", "measured,"), `f.csv:9: column verdict: "" is not a verdict`},
		{"target that is none", swap("closed,max", "closed,-1"), `f.csv:9: column target_rps: "-1" is neither max nor a rate`},
		{"no key", swap("lookup/-/go-go/-/max", ""), `f.csv:9: column cell: want a key`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseCSV("f.csv", []byte(c.text))
			if err == nil || err.Error() != c.want {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if got.Rows != nil || got.Facts != nil {
				t.Error("part of a bad file was read")
			}
		})
	}
}

// However a file is cut, it is refused: a table that lacks rows would pass for whole. Only a cut right after a row can't
// be told from a shorter table; that is what the set of keys is checked for.
func TestCSVCutAnywhere(t *testing.T) {
	good, _ := table().MarshalCSV()
	whole := 0
	for n := range good {
		got, err := ParseCSV("f.csv", good[:n])
		if err == nil {
			whole++
			if good[n-1] != '\n' || len(got.Rows) > 1 {
				t.Errorf("cut after %d bytes: accepted with %d rows", n, len(got.Rows))
			}
		}
	}
	if whole != 2 { // after the header and after the first row
		t.Errorf("%d cuts accepted, want 2", whole)
	}
}

func FuzzParseCSV(f *testing.F) {
	good, _ := table().MarshalCSV()
	f.Add(good)
	f.Add(bytes.ReplaceAll(good, []byte("9998.4"), []byte("-0")))
	f.Add([]byte("# msgbench-results: 1\n# a\n"))
	f.Add([]byte("# msgbench-results: 1\n\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := ParseCSV("f.csv", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.csv:") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q does not name the file in one line", err)
			}
			return
		}
		for i, f := range table.Facts { // written back in one line with single blanks
			table.Facts[i].Value = oneLine(f.Value)
			if strings.Contains(f.Key, "\r") {
				t.Skip()
			}
		}
		again, err := table.MarshalCSV()
		if err != nil {
			t.Fatal(err)
		}
		read, err := ParseCSV("f.csv", again)
		if err != nil {
			t.Fatalf("%v in what was written: %q", err, again)
		}
		if !reflect.DeepEqual(read, table) {
			t.Errorf("read %+v\nfrom %+v", read, table)
		}
	})
}

// A text that a spreadsheet would run is not written; a lone minus, the transport of lookup, is no formula.
func TestFormulasAreNotWritten(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{{"-", true}, {"tcp", true}, {"a=b", true}, {"=1+1", false}, {"+1", false}, {"@x", false}, {"-1+1", false}, {"\t=1", false}} {
		_, err := Table{Rows: []Row{{Cell: "c", Transport: c.text, TargetRPS: "max", Verdict: Stable}}}.MarshalCSV()
		if (err == nil) != c.ok {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}
