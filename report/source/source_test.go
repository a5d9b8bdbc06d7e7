package source

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"msgbench/report/source/sourcetest"
	"msgbench/results"
)

func write(t testing.TB, cells ...sourcetest.Cell) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := sourcetest.Write(dir, cells...); err != nil {
		t.Fatal(err)
	}
	return dir
}

var (
	shm = sourcetest.PingPong("shm", 8, 0, 1000, 1001, 1002, 1003, 1004)
	tcp = sourcetest.PingPong("tcp", 8, 100, 100, 100, 100, 100, 100)
)

func TestLoad(t *testing.T) {
	spin := shm
	spin.Dims, spin.Defaults = map[string]string{"wait": "spin", "nodelay": "off"}, nil
	dir := write(t, shm, tcp, spin)
	run, err := Load(dir, "p50_us", "throughput")
	if err != nil {
		t.Fatal(err)
	}
	csv, err := Load(filepath.Join(dir, results.CSVFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, results.JournalFile)); err != nil {
		t.Fatal(err)
	}
	alone, err := Load(filepath.Join(dir, results.CSVFile))
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Cells {
		r, c, a := run.Cells[i], csv.Cells[i], alone.Cells[i]
		if len(r.Samples) != 5 || len(c.Samples) != 5 || r.NoSamples+c.NoSamples != "" {
			t.Errorf("%s: %d samples of the run, %d of the CSV (%s)", r.Row.Cell, len(r.Samples), len(c.Samples), c.NoSamples)
		}
		if len(a.Samples) != 0 || a.NoSamples != "there is no journal beside the CSV" {
			t.Errorf("%s: alone %q", a.Row.Cell, a.NoSamples)
		}
		// The cell that is made of a row has the same key and the same dimensions.
		if a.Cell.Key() != r.Cell.Key() || a.Cell.Dim("wait") != r.Cell.Dim("wait") || a.Cell.Dim("nodelay") != r.Cell.Dim("nodelay") {
			t.Errorf("%+v of the row, want %+v", a.Cell, r.Cell)
		}
		values := run.Values(&r, "throughput")
		if len(values) != 5 || values[0] != results.N(float64(r.Samples[0].Ops)) {
			t.Errorf("%s: throughput %v", r.Row.Cell, values)
		}
	}
	if run.Fact("cpu") != "Model 1" || run.Fact("none") != "" {
		t.Error("facts")
	}
}

// A CSV beside the journal of another run gets none of its samples.
func TestForeignJournal(t *testing.T) {
	dir, other := write(t, shm, tcp), write(t, sourcetest.PingPong("shm", 8, 0, 5, 5, 5, 5, 5), tcp)
	data, err := os.ReadFile(filepath.Join(other, results.CSVFile))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "other.csv")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Cells[0]; c.NoSamples != "the journal beside the CSV does not hold the samples of this row" || len(c.Samples) != 0 {
		t.Errorf("%d samples, %q", len(c.Samples), c.NoSamples)
	}
}

func TestSelect(t *testing.T) {
	for _, tt := range []struct {
		globs string
		want  int
	}{{"", 2}, {"*", 2}, {"*/shm/*", 1}, {"ping-pong/?cp/*/100", 1}, {"*/100 */max", 2}, {"ping-pong", -1}, {"*/tcp/* x", -1}, {"[a-z]*", -1}} {
		s, err := Load(write(t, shm, tcp))
		if err != nil {
			t.Fatal(err)
		}
		err = s.Select(strings.Fields(tt.globs))
		if (err != nil) != (tt.want < 0) || err == nil && len(s.Cells) != tt.want {
			t.Errorf("%q: %d cells, %v", tt.globs, len(s.Cells), err)
		}
	}
}

func TestUnique(t *testing.T) {
	s := Set{Path: "x", Cells: make([]Cell, 2)}
	s.Cells[0].Row.Cell, s.Cells[1].Row.Cell = "a", "a"
	if err := s.Unique(); err == nil || err.Error() != "x: the cell a stands there twice" {
		t.Error(err)
	}
}

// A journal cut at any byte gives the samples that are whole, and says how much is left over.
func TestJournalCutAnywhere(t *testing.T) {
	two := shm
	two.Ops = two.Ops[:2]
	dir := write(t, two)
	path := filepath.Join(dir, results.JournalFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(data) + 1 {
		if err := os.WriteFile(path, data[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Load(dir)
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		whole := bytes.Count(data[:n], []byte("\n"))
		if len(s.Cells[0].Samples) != whole || s.Cut != n-1-bytes.LastIndexByte(data[:n], '\n') {
			t.Fatalf("cut at %d: %d samples, want %d; %d bytes left over", n, len(s.Cells[0].Samples), whole, s.Cut)
		}
	}
}

// A CSV cut at any byte, or with any of these faults, is refused as a whole, with file and line.
func TestBadCSV(t *testing.T) {
	dir := write(t, shm, tcp)
	data, err := os.ReadFile(filepath.Join(dir, results.CSVFile))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bad.csv")
	load := func(data []byte) error {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		return err
	}
	if err := load(data); err != nil {
		t.Fatal(err)
	}
	for n := range len(data) {
		ends := n > 0 && data[n-1] == '\n' // whole lines: a shorter file, not a cut one, once the columns are there
		if err := load(data[:n]); err == nil && !ends {
			t.Fatalf("cut at %d of %d: no error", n, len(data))
		} else if err != nil && !strings.HasPrefix(err.Error(), path+":") {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	text := string(data)
	for _, tt := range []struct{ name, old, new, want string }{
		{"version", "msgbench-results: 1", "msgbench-results: 2", ":1: want"},
		{"missing column", ",p50_us,", ",", `: column "p50_us" is missing`},
		{"doubled column", ",p50_us,", ",p90_us,", `: column "p90_us" stands twice`},
		{"NaN", ",1002,", ",NaN,", `"NaN" is not a number`},
		{"no number", ",1002,", ",fast,", `"fast" is not a number`},
		{"verdict", ",stable,", ",fine,", `"fine" is not a verdict`},
	} {
		bad := strings.Replace(text, tt.old, tt.new, 1)
		if bad == text {
			t.Fatalf("%s: nothing to replace", tt.name)
		}
		if err := load([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
