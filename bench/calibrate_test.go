package bench

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"msgbench/pinning"
	"msgbench/results"
)

// calibrated is a Sampler that can calibrate.
type calibrated struct {
	fakeSampler
	calls int
	err   error
}

func (c *calibrated) Calibrate(context.Context) (results.Sample, error) {
	c.calls++
	return results.Sample{Cell: results.CalibrationCell, Outcome: results.Calibrated,
		Calibration: &results.Calibration{LineNs: 100 + float64(c.calls), PipeNs: 5000, LineTrips: 1, PipeTrips: 1}}, c.err
}

// rounds are those of the calibrations of a journal.
func calibratedRounds(t *testing.T, dir string) (rounds []int) {
	t.Helper()
	samples, _, err := results.ReadJournal(filepath.Join(dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range samples {
		if s.Outcome != results.Calibrated {
			continue
		}
		rounds = append(rounds, s.Round)
		if i+1 == len(samples) || samples[i+1].Round != s.Round {
			t.Errorf("line %d: a calibration that no sample of its round follows", i+1)
		}
	}
	return rounds
}

func TestEachRoundIsCalibrated(t *testing.T) {
	r := testRun(5, "pipe", "shm")
	r.Policy.Calibrate = true
	wild := r.Cells[1].Key()
	c := &calibrated{fakeSampler: fakeSampler{rate: func(cell string, n int) float64 {
		if cell == wild && n < 5 {
			return 1000 * float64(n+1)
		}
		return 1000
	}}}
	dir := t.TempDir()
	if _, err := Run(context.Background(), dir, r, noSkip, c, &events{}); err != nil {
		t.Fatal(err)
	}
	if got := calibratedRounds(t, dir); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("calibrated: rounds %v", got)
	}
	samples, _, err := results.ReadJournal(filepath.Join(dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	n := 0.0 // the nth takes 100 + n ns, so the median of all until then is 100 + (n+1)/2
	for _, s := range samples {
		if s.Outcome == results.Calibrated {
			n++
			if c := s.Calibration; math.Abs(c.LineIndex-(100+n)/(100+(n+1)/2)) > 1e-9 || c.PipeIndex != 1 {
				t.Errorf("calibration %g: %+v", n, c)
			}
		}
	}

	r.Policy.Calibrate = false
	c, dir = &calibrated{}, t.TempDir()
	if _, err := Run(context.Background(), dir, r, noSkip, c, &events{}); err != nil || c.calls != 0 {
		t.Errorf("off: %d calibrations, %v", c.calls, err)
	}

	r.Policy.Calibrate = true
	c = &calibrated{err: errors.ErrUnsupported}
	if samples, err := Run(context.Background(), t.TempDir(), r, noSkip, c, &events{}); err != nil || len(samples) != 10 {
		t.Errorf("where the system can't: %d samples, %v", len(samples), err)
	}
	c = &calibrated{err: os.ErrPermission}
	if _, err := Run(context.Background(), t.TempDir(), r, noSkip, c, &events{}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a broken calibration: %v", err)
	}
}

// A round that is resumed is calibrated again, since time has passed; one that is over is not.
func TestResumedRoundIsCalibratedAgain(t *testing.T) {
	r := testRun(3, "pipe", "shm")
	r.Policy.Calibrate, r.Policy.Reruns = true, 0
	dir := t.TempDir()
	ctx, stop := context.WithCancel(context.Background())
	c := &calibrated{fakeSampler: fakeSampler{stop: stop, stopAt: 3}} // in the middle of round 1
	if _, err := Run(ctx, dir, r, noSkip, c, &events{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), dir, r, noSkip, &calibrated{}, &events{}); err != nil {
		t.Fatal(err)
	}
	if got := calibratedRounds(t, dir); !slices.Equal(got, []int{0, 1, 1, 2}) {
		t.Errorf("calibrated: rounds %v", got)
	}
}

func TestCalibrate(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has it")
	}
	w := testWorkers(t)
	for _, pin := range []string{"", "none", "same-core", "publisher=0"} {
		var err error
		if w.plan, err = pinning.Parse(pin); err != nil {
			t.Fatal(err)
		}
		s, err := w.Calibrate(context.Background())
		if err != nil || s.Reason != "" {
			t.Fatalf("--pin %s: %s, %v", pin, s.Reason, err)
		}
		c := s.Calibration
		if !(c.LineNs > 0) || !(c.PipeNs > 0) || c.LineTrips < 1 || c.PipeTrips < 1 || s.Outcome != results.Calibrated {
			t.Errorf("--pin %s: %+v", pin, c)
		}
		want, _ := w.plan.Place(w.topology, []string{results.Client, results.Server})
		for _, role := range []string{results.Client, results.Server} {
			if p := s.Placement[role]; len(want[role]) > 0 && !reflect.DeepEqual(p.Allowed, want[role]) || len(p.Allowed) == 0 {
				t.Errorf("--pin %s: the %s ran on %v, want %v", pin, role, p.Allowed, want[role])
			}
		}
	}
}

// A calibration that fails says so, and is no reason to end the run.
func TestCalibrationThatFails(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has it")
	}
	w := testWorkers(t)
	w.exe = "/bin/false"
	s, err := w.Calibrate(context.Background())
	if err != nil || s.Outcome != results.Calibrated || !strings.Contains(s.Reason, `server ended before "ready"`) || s.Calibration.LineNs != 0 {
		t.Errorf("%+v %v", s, err)
	}
}
