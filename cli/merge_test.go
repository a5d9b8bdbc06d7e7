package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"msgbench/report/source/sourcetest"
	"msgbench/results"
)

// writeShard makes one of two parts of a run, measured on a machine named desk that was booted as boot. change, if not nil,
// makes its run.json another one.
func writeShard(t *testing.T, dir, shard, boot string, change func(*results.Run), whole, cells []sourcetest.Cell) string {
	t.Helper()
	if err := sourcetest.Write(dir, cells...); err != nil {
		t.Fatal(err)
	}
	run, err := results.ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	run.Shard, run.Boot = shard, boot
	for _, c := range whole {
		run.Whole = append(run.Whole, c.Key())
	}
	if change != nil {
		change(&run)
	}
	if err := results.WriteRun(dir, run); err != nil {
		t.Fatal(err)
	}
	return dir
}

// command runs msgbench and returns its exit code and all that it printed.
func command(args ...string) (int, string) {
	var out strings.Builder
	code := Main(args, strings.NewReader(""), &out, &out)
	return code, out.String()
}

// TestMergedMachines merges shards of two machines that have the same name, and looks at every table.
func TestMergedMachines(t *testing.T) {
	dir := t.TempDir()
	var small, large []sourcetest.Cell
	for i, transport := range []string{"shm", "tcp", "uds"} {
		small = append(small, sourcetest.PingPong(transport, 8, 0, steady(int64(1_000_000/(i+1)))...))
		large = append(large, sourcetest.PingPong(transport, 16, 0, steady(int64(900_000/(i+1)))...))
	}
	whole := append(append([]sourcetest.Cell{}, small...), large...)
	a := writeShard(t, filepath.Join(dir, "a"), "1/2", "aa", nil, whole, small)
	b := writeShard(t, filepath.Join(dir, "b"), "2/2", "bb", nil, whole, large)
	merged, swapped := filepath.Join(dir, "merged"), filepath.Join(dir, "swapped")
	for _, m := range [][]string{{a, b, "--out", merged}, {b, a, "--out", swapped}} {
		if code, out := command(append([]string{"merge"}, m...)...); code != 0 {
			t.Fatalf("merge: exit code %d: %s", code, out)
		}
	}
	one, two := "desk (machine 1)", "desk (machine 2)"
	for _, v := range []struct {
		args []string
		want []string // lines or parts of them, both machines apart
	}{
		{[]string{"report", merged}, []string{"## ping-pong · 8 B · max rate · closed loop · latency: round trip · " + one,
			"16 B · max rate · closed loop · latency: round trip · " + two}},
		{[]string{"report", merged, "--style", "matrix"}, []string{"## TCP Ping-Pong (8 B, " + one + ")", "## TCP Ping-Pong (16 B, " + two + ")"}},
		{[]string{"report", merged, "--style", "ranking"}, []string{"## " + one, "## " + two}},
		{[]string{"report", merged, "--style", "post"}, []string{"| ping-pong 8 B on " + one + " | shm |", "| ping-pong 16 B on " + two + " | shm |"}},
		{[]string{"report", merged, "--style", "comparison"}, []string{"on 2 machines", "| ping-pong 8 on " + one + " | shm |",
			"| ping-pong on " + two + " | shm | 16 |", "No transport has publishable rows at two payloads."}},
		{[]string{"report", merged, "--html", "-"}, []string{one, two}},
		{[]string{"compare", merged, swapped}, []string{`another machine: old "` + one + `", new "` + two + `"`, `old "` + two + `", new "` + one + `"`}},
	} {
		code, out := command(v.args...)
		for _, w := range v.want {
			if code != 0 || !strings.Contains(out, w) {
				t.Errorf("%v: exit code %d, without %q:\n%s", v.args, code, w, out)
			}
		}
	}
	floors := filepath.Join(dir, "floors.yaml")
	if err := os.WriteFile(floors, []byte(`floors:
  - {name: large keeps up, match: {transport: [shm, tcp], payload_bytes: 16}, metric: throughput, relative_to: {payload_bytes: 8}, min: 0.5}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out := command("check", merged, "--floors", floors); code == 0 || !strings.Contains(out, "their ratio would be one of machines") {
		t.Errorf("check with a ratio of two machines: exit code %d\n%s", code, out)
	}
	table, err := loadRun(merged)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Rows {
		if want := map[string]string{"8": one, "16": two}[r.Payload.String()]; r.Machine != want {
			t.Errorf("%s is said to be of %q, want %q", r.Cell, r.Machine, want)
		}
	}
}

// Shards whose servers ran on two hosts of one kind are of two machines, though their client was the same.
func TestMachinesOfTwoHosts(t *testing.T) {
	part := func(payload int, boot string) results.Run {
		return results.Run{Machine: "desk → rack", Boot: "aa", Server: &results.ServerHost{Boot: boot},
			Cells: []results.Cell{sourcetest.PingPong("tcp", payload, 0).Cell}}
	}
	for _, c := range []struct {
		boot  string
		names int
	}{{"bb", 1}, {"cc", 2}} {
		if got := distinct(machinesOf([]results.Run{part(8, "bb"), part(16, c.boot)})); len(got) != c.names {
			t.Errorf("servers bb and %s: %v", c.boot, got)
		}
	}
}

// TestMergeRefuses has a second shard that belongs to another run.
func TestMergeRefuses(t *testing.T) {
	small := []sourcetest.Cell{sourcetest.PingPong("shm", 8, 0, steady(1000)...)}
	large := []sourcetest.Cell{sourcetest.PingPong("shm", 16, 0, steady(1000)...)}
	whole := append(append([]sourcetest.Cell{}, small...), large...)
	for what, change := range map[string]func(*results.Run){
		"suite test and other":                            func(r *results.Run) { r.Suite = "other" },
		"seed 1 and 2":                                    func(r *results.Run) { r.Seed = 2 },
		"msgbench test and v9":                            func(r *results.Run) { r.Msgbench = "v9" },
		"build of msgbench and abc":                       func(r *results.Run) { r.Build = "abc" },
		"policy ":                                         func(r *results.Run) { r.Policy.Samples = 6 },
		"pin default and none":                            func(r *results.Run) { r.Pin = "none" },
		"number of shards 2 and 3":                        func(r *results.Run) { r.Shard = "2/3" },
		"cells of the whole":                              func(r *results.Run) { r.Whole = append(r.Whole, "more") },
		"are both shard 1/2":                              func(r *results.Run) { r.Shard = "1/2" },
		"the cell ping-pong/shm/go-go/8B/max is in":       func(r *results.Run) { r.Cells = append(r.Cells, small[0].Cell) },
		"1 of 2 cells are in none of the shards, the fir": func(r *results.Run) { r.Cells = nil },
	} {
		dir := t.TempDir()
		a := writeShard(t, filepath.Join(dir, "a"), "1/2", "aa", nil, whole, small)
		b := writeShard(t, filepath.Join(dir, "b"), "2/2", "bb", change, whole, large)
		out := filepath.Join(dir, "m")
		if code, said := command("merge", a, b, "--out", out); code != exitUsage || !strings.Contains(said, what) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: exit code %d: %s", what, code, said)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a run directory was made", what)
		}
	}
}

// TestMergedResumptions: that a shard was gone on with stands in the merged report, whichever shard it was.
func TestMergedResumptions(t *testing.T) {
	dir := t.TempDir()
	cells := []sourcetest.Cell{sourcetest.PingPong("shm", 8, 0, steady(100)...), sourcetest.PingPong("shm", 16, 0, steady(100)...)}
	a := writeShard(t, filepath.Join(dir, "a"), "1/2", "aa", nil, cells, cells[:1])
	b := writeShard(t, filepath.Join(dir, "b"), "2/2", "aa", func(r *results.Run) {
		resume(r, results.Resumption{How: howResume, Boots: "bb"})
		resume(r, results.Resumption{How: howRetry, Cells: []string{"x"}, Boots: "bb", Changed: []string{"power: mains → battery"}})
	}, cells, cells[1:])
	for _, order := range [][]string{{a, b}, {b, a}} {
		merged := filepath.Join(t.TempDir(), "merged")
		if code, out := command(append(append([]string{"merge"}, order...), "--out", merged)...); code != 0 {
			t.Fatalf("merge: exit code %d: %s", code, out)
		}
		csv, err := os.ReadFile(filepath.Join(merged, results.CSVFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"# resumed: shard 2/2: 0001-01-01T00:00:00Z, after the machine was booted anew\n",
			"# retried: shard 2/2: 0001-01-01T00:00:00Z, 1 of 1 cells; changed since the run began: power: mains → battery\n",
		} {
			if strings.Count(string(csv), want) != 1 || strings.Count(string(csv), "00:00:00Z") != 2 {
				t.Errorf("%s has not once %q:\n%s", order, want, csv[:min(len(csv), 1500)])
			}
		}
	}
}
