package compare

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"msgbench/report/internal/golden"
	"msgbench/report/source"
	"msgbench/report/source/sourcetest"
	"msgbench/results"
)

// rounds are calibrations around two levels, some per cent apart.
func rounds(line, pipe float64) (list [][2]float64) {
	for _, f := range []float64{0.99, 1.02, 1, 1.01, 0.98, 1.03} {
		list = append(list, [2]float64{line * f, pipe * (2 - f)})
	}
	return list
}

// onMachine is a run of one cell with calibrations, on a machine of that name, by a plan.
func onMachine(t *testing.T, machine, pin string, cell sourcetest.Cell, calibrations [][2]float64) source.Set {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	cell.Calibrations = calibrations
	if err := sourcetest.Write(dir, cell); err != nil {
		t.Fatal(err)
	}
	run, err := results.ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	run.Machine, run.Facts[0].Value, run.Pin = machine, machine, pin
	if err := results.WriteRun(dir, run); err != nil {
		t.Fatal(err)
	}
	s, err := source.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Path = "run"
	return s
}

func TestCalibrations(t *testing.T) {
	pp := sourcetest.PingPong
	fast, slow := pp("shm", 8, 0, steady(1_000_000)...), pp("shm", 8, 0, steady(500_000)...)
	const moved = "the machine changed between the runs: calibration of "
	for _, c := range []struct {
		name             string
		oldCell, newCell sourcetest.Cell
		machine, pin     string // of new
		old, new         [][2]float64
		margin           float64
		outcome, reason  string
		text             string // above the cells
	}{
		{name: "neither is calibrated", oldCell: fast, newCell: slow, outcome: Worse},
		{name: "the machine held still", oldCell: fast, newCell: slow, old: rounds(100, 5000), new: rounds(101, 4950), outcome: Worse,
			text: "calibration of cache line: old 100 ns, new 102 ns: +1.0 %"},
		{name: "another machine, as fast", machine: "rack", oldCell: fast, newCell: slow, old: rounds(100, 5000), new: rounds(100, 5000),
			outcome: Worse, text: "machine differs: old desk, new rack"},
		{name: "the cache line moved", oldCell: fast, newCell: slow, old: rounds(100, 5000), new: rounds(150, 5000), outcome: Unsure,
			reason: moved + "cache line +50.0 %", text: "moved by +50.0 %"},
		{name: "the pipe moved", oldCell: fast, newCell: fast, old: rounds(100, 5000), new: rounds(100, 2500), outcome: Unsure, reason: moved + "pipe -50.0 %"},
		{name: "both moved", oldCell: slow, newCell: fast, old: rounds(100, 5000), new: rounds(80, 4000), outcome: Unsure,
			reason: moved + "cache line -20.0 % (-22.3 % … -17.6 %), pipe -20.0 %"},
		{name: "moved by less than the margin", margin: 0.6, oldCell: fast, newCell: fast, old: rounds(100, 5000), new: rounds(150, 5000),
			outcome: Same, text: "+50.0 %"},
		{name: "too noisy to tell", oldCell: fast, newCell: slow, old: [][2]float64{{100, 5000}, {180, 5000}, {90, 5000}, {150, 5000}},
			new: [][2]float64{{140, 5000}, {90, 5000}, {190, 5000}, {120, 5000}}, outcome: Worse},
		{name: "too few rounds", oldCell: fast, newCell: slow, old: rounds(100, 5000)[:3], new: rounds(300, 5000)[:3], outcome: Worse,
			text: "too few rounds to compare: 3 and 3, want at least 4 and 4"},
		{name: "another placement", pin: "none", oldCell: fast, newCell: slow, old: rounds(100, 5000), new: rounds(300, 5000),
			outcome: Worse, text: "calibrations are not compared: the placement differs: old default, new none"},
		{name: "only before", oldCell: fast, newCell: slow, old: rounds(100, 5000), outcome: Worse, text: "new has no calibration"},
		{name: "only now", oldCell: fast, newCell: slow, new: rounds(100, 5000), outcome: Worse, text: "old has no calibration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.machine == "" {
				c.machine = "desk"
			}
			if c.pin == "" {
				c.pin = "default"
			}
			if c.margin == 0 {
				c.margin = 0.05
			}
			r, err := Compare(onMachine(t, "desk", "default", c.oldCell, c.old), onMachine(t, c.machine, c.pin, c.newCell, c.new), c.margin)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Cells[0]; got.Outcome != c.outcome || !strings.HasPrefix(got.Reason, c.reason) || c.reason == "" && got.Reason != "" {
				t.Errorf("%s %q, want %s %q", got.Outcome, got.Reason, c.outcome, c.reason)
			}
			if c.reason != "" && (len(r.Means) > 0 || len(r.Beyond(c.margin)) > 0 || r.Moved() == "") {
				t.Errorf("means %v, beyond %v, %q", r.Means, r.Beyond(c.margin), r.Moved())
			}
			out, err := Write(r, "text")
			if err != nil || !strings.Contains(string(out), c.text) {
				t.Errorf("%v, no %q in\n%s", err, c.text, out)
			}
			if out, err = Write(r, "json"); err != nil {
				t.Fatal(err)
			}
			var j struct {
				Calibrations []struct {
					Name  string
					Moved bool
				}
			}
			if err := json.Unmarshal(out, &j); err != nil || len(j.Calibrations) != len(r.Calibrations) {
				t.Errorf("%v %+v", err, j)
			}
		})
	}
}

// A run that was merged from shards has calibrations of several machines; they are not compared with those of another.
func TestCalibrationsOfShards(t *testing.T) {
	a := onMachine(t, "desk", "default", sourcetest.PingPong("shm", 8, 0, steady(1000)...), rounds(100, 5000))
	b := onMachine(t, "desk", "default", sourcetest.PingPong("shm", 8, 0, steady(500)...), rounds(200, 5000))
	b.Calibrations[0].Of = "shard 1/1 on desk"
	r, err := Compare(a, b, 0.05)
	if err != nil || r.Cells[0].Outcome != Worse || r.Uncalibrated != "calibrations are not compared: a run was merged from shards" {
		t.Errorf("%v %+v", err, r)
	}
}

func TestCalibrationGolden(t *testing.T) {
	r, err := Compare(
		onMachine(t, "desk", "default", sourcetest.PingPong("shm", 8, 0, steady(1_000_000)...), rounds(100, 5000)),
		onMachine(t, "rack | <x>", "default", sourcetest.PingPong("shm", 8, 0, steady(500_000)...), rounds(150, 5000)), 0.05)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats {
		got, err := Write(r, format)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "calibration."+format+".golden", got)
	}
}
