package results

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRunRoundTrip(t *testing.T) {
	dir := t.TempDir()
	want := Run{
		Version: FormatVersion, Created: time.Date(2026, 11, 3, 12, 0, 0, 5, time.UTC), Msgbench: "v0.1", CommandLine: []string{"msgbench", "run"},
		Suite: "quick", Seed: 1<<64 - 1, Pin: "default", Policy: DefaultPolicy(), Machine: "desk",
		Cells: []Cell{{Scenario: "ping-pong", Transport: "shm", Client: "go", Server: "go", Payload: 8, Dims: map[string]string{"wait": "spin"}}},
		Facts: []Fact{{"cpu", "x"}},
	}
	if err := WriteRun(dir, want); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadRun(dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, got, want)
	}
}

func TestBadRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, RunFile)
	if _, err := ReadRun(dir); err == nil || err.Error() != dir+": no run.json there: not a run directory" {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{
		"":                               path + ": unexpected end of JSON input",
		`{"msgbench_run":7}`:             path + ": msgbench_run is 7, this msgbench reads 1",
		`{"msgbench_run":1`:              path + ": unexpected end of JSON input",
		`{"policy":{"duration":"soon"}}`: path + `: "soon" is not a duration like 500ms or 5s`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRun(dir); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s…", text, err, want)
		}
	}
}

func TestDuration(t *testing.T) {
	var d Duration
	if err := d.UnmarshalText([]byte("600ms")); err != nil || d.String() != "600ms" {
		t.Error(d, err)
	}
}

func TestWriteFileLeavesNothingBeside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, CSVFile)
	for _, text := range []string{"long text", "short"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("%d files in the folder, want 1", len(list))
	}
}
