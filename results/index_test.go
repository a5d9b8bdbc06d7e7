package results

import (
	"bytes"
	"encoding/json"
	"iter"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"msgbench/results/hist"
)

// journalOf writes samples with a Journal, and returns its path.
func journalOf(t *testing.T, samples ...Sample) string {
	t.Helper()
	path, _ := write(t, samples)
	return path
}

func indexSamples() []Sample {
	m := &Measurement{WindowNs: 1e9, Ops: 3, Latency: hist.New()}
	m.Latency.Record(5)
	list := []Sample{
		{Cell: "a/-/go-go/-/max", Outcome: OK, Measurement: m},
		{Cell: "b", Outcome: Failed, Reason: "server ended", Round: 3, Attempt: 1, Try: 2},
		{Cell: CalibrationCell, Outcome: Calibrated, Calibration: &Calibration{LineNs: 90, PipeNs: 7000}},
		{Cell: "b", Outcome: Failed, Reason: strings.Repeat("long ", blockSize/4), Round: 4}, // over a block, and over a head
		{Cell: `quoted "and" é`, Outcome: Skipped, Reason: "not here"},
		{Cell: "a/-/go-go/-/max", Outcome: Rejected, Reason: "ramp", Measurement: m, Order: 999999999, Round: 1, Attempt: 1},
	}
	for i := range list {
		list[i].Version = FormatVersion
	}
	return list
}

func collect(samples iter.Seq2[Sample, error]) (list []Sample, err error) {
	for s, err := range samples {
		if err != nil {
			return list, err
		}
		list = append(list, s)
	}
	return list, nil
}

// An index finds what ReadJournal reads.
func TestIndex(t *testing.T) {
	path := journalOf(t, indexSamples()...)
	want, _, err := ReadJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	x, closeIndex, err := OpenIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeIndex()
	all, err := collect(x.All())
	if err != nil || !reflect.DeepEqual(all, want) || x.Cut != 0 {
		t.Errorf("all: %v, cut %d", err, x.Cut)
	}
	for i, e := range x.Entries {
		if s := want[i]; e.Cell != s.Cell || e.Outcome != s.Outcome || e.Round != s.Round || e.Attempt != s.Attempt || e.Try != s.Try {
			t.Errorf("line %d: %+v, want %+v", i+1, e, s)
		}
	}
	if cells := x.Cells(); !slices.Equal(cells, []string{"a/-/go-go/-/max", "b", CalibrationCell, `quoted "and" é`}) {
		t.Errorf("cells %q", cells)
	}
	if of, err := collect(x.Of("b")); err != nil || !reflect.DeepEqual(of, []Sample{want[1], want[3]}) {
		t.Errorf("of b: %+v, %v", of, err)
	}
	if of, err := collect(x.Of("none")); err != nil || of != nil {
		t.Errorf("of none: %+v, %v", of, err)
	}
	for range x.Of("b") {
		break // whoever has seen enough may stop
	}
	if !x.Has("b") || x.Has("none") {
		t.Error("Has")
	}
}

// What is appended is in the index as well, and can be read at once.
func TestIndexGrows(t *testing.T) {
	path := journalOf(t, indexSamples()[:2]...)
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	x, err := j.Index()
	if err != nil || len(x.Entries) != 2 {
		t.Fatalf("%v, %v", x, err)
	}
	for _, s := range indexSamples()[2:] {
		if err := j.Append(s); err != nil {
			t.Fatal(err)
		}
	}
	want, _, err := ReadJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := collect(x.All()); err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("%d samples, %v", len(all), err)
	}
}

// Cut at any byte, a journal has an index of its whole lines; and what is no sample is told with its line.
func TestIndexOfBroken(t *testing.T) {
	path := journalOf(t, indexSamples()[:3]...)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(data) + 1 {
		x, err := readIndex(bytes.NewReader(data[:n]), "j")
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		lines := bytes.Count(data[:n], []byte("\n"))
		if len(x.Entries) != lines || x.Cut != n-(bytes.LastIndexByte(data[:n], '\n')+1) {
			t.Errorf("cut at %d: %d entries, cut %d", n, len(x.Entries), x.Cut)
		}
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	for name, c := range map[string]struct{ line, want string }{
		"empty":       {"\n", "j: line 2: not a sample"},
		"garbage":     {"garbage\n", "j: line 2: not a sample"},
		"zeros":       {string(lines[1][:20]) + "\x00\x00" + string(lines[1][22:]), "j: line 2: not a sample: it holds zero bytes"},
		"two in one":  {string(bytes.TrimSpace(lines[1])) + string(lines[1]), ""}, // found when it is read
		"no end":      {string(lines[1][:len(lines[1])-3]) + "\n", "j: line 2: not a sample"},
		"outcome":     {strings.Replace(string(lines[1]), `"failed"`, `"fine"`, 1), `j: line 2: outcome "fine"`},
		"version":     {strings.Replace(string(lines[1]), `"v":1`, `"v":7`, 1), "j: line 2: sample version 7"},
		"other order": {`{"cell":"b","v":1,"outcome":"skipped","reason":"r"}` + "\n", ""},
	} {
		x, err := readIndex(strings.NewReader(string(lines[0])+c.line+string(lines[2])), "j")
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if name == "two in one" {
			if _, err := collect(x.All()); err == nil || !strings.HasPrefix(err.Error(), "j: line 2: not a sample") {
				t.Errorf("%s: read: %v", name, err)
			}
		}
	}
}

// The head of a line is read as encoding/json reads it, or left to that.
func FuzzIndexHead(f *testing.F) {
	for _, s := range indexSamples() {
		line, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, ok := scanHead(line)
		s, err := parseSample(line, nil)
		if !ok || err != nil {
			return
		}
		if e.Cell != s.Cell || e.Outcome != s.Outcome || e.Round != s.Round || e.Attempt != s.Attempt || e.Try != s.Try {
			t.Errorf("%q: %+v, want %+v", line, e, s)
		}
	})
}
