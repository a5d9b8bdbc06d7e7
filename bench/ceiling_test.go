package bench

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"msgbench/results"
	"msgbench/stability"
)

// simulated is a sampler whose data-rate cells hold up to a known rate.
type simulated struct {
	fakeSampler
	capacity int
	fails    bool // a process dies beyond the capacity
	steps    int
	stopAt   int // steps after which the run is interrupted; 0: never
}

func (s *simulated) Step(ctx context.Context, c results.Cell, settle, window time.Duration) (results.Sample, error) {
	if s.stopAt > 0 && s.steps == s.stopAt {
		return results.Sample{}, context.Canceled
	}
	s.steps++
	sample := results.Sample{Cell: c.Key(), Started: time.Now(), Outcome: results.OK}
	if s.fails && c.Rate > s.capacity {
		sample.Outcome, sample.Reason = results.Failed, "the server died"
		return sample, nil
	}
	n := int64(min(c.Rate, s.capacity))
	m := &results.Measurement{Loop: results.Open, WindowNs: 1e9, Ops: n, Messages: n, Sent: n, Received: n, Series: &results.Series{StepNs: 1e8}}
	for range 10 {
		m.Series.Sent, m.Series.Received = append(m.Series.Sent, n/10), append(m.Series.Received, n/10)
	}
	sample.Measurement = m
	return sample, nil
}

func ceilingRun() results.Run {
	r := testRun(3, "shm")
	r.Policy.Ceiling = true
	for _, t := range []string{"shm", "tcp"} {
		r.Cells = append(r.Cells, results.Cell{Scenario: "data-rate", Transport: t, Client: "go", Server: "go", Payload: 64})
	}
	return r
}

// judgeRun is what the journal of a run comes to.
func judgeRun(t *testing.T, dir string, r results.Run) []stability.Judged {
	t.Helper()
	index, closeIndex, err := results.OpenIndex(filepath.Join(dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	defer closeIndex()
	judged, err := stability.Judge(r, index)
	if err != nil {
		t.Fatal(err)
	}
	return judged
}

// The search is made for the data-rate cells only, and each step of it is in the journal.
func TestCeiling(t *testing.T) {
	for _, fails := range []bool{false, true} {
		r, s := ceilingRun(), &simulated{capacity: 70_000, fails: fails}
		dir := t.TempDir()
		samples, err := Run(context.Background(), dir, r, noSkip, s, &events{})
		if err != nil {
			t.Fatal(err)
		}
		written, _, err := results.ReadJournal(filepath.Join(dir, results.JournalFile))
		if err != nil || len(written) != len(samples) || len(samples) != 9+s.steps || s.steps < 20 {
			t.Fatalf("%d samples, %d in the journal, %d steps, %v", len(samples), len(written), s.steps, err)
		}
		judged := judgeRun(t, dir, r)
		var notes []stability.Note
		for i, j := range judged {
			row := j.Row
			notes = append(notes, j.Notes...)
			held, ok := row.Ceiling.Value()
			above, _ := row.CeilingFails.Value()
			if i == 0 && ok || i > 0 && (held < 67_000 || held > 70_800 || above <= held || above > 1.031*held) {
				t.Errorf("%s: ceiling %g, fails at %g", row.Cell, held, above)
			}
			if row.Verdict != results.Stable || row.Samples.Or(0) != 3 {
				t.Errorf("%s: %s with %s samples: steps are none", row.Cell, row.Verdict, row.Samples)
			}
		}
		if len(notes) != 2 || notes[0].Kind != stability.NoteCeiling || !strings.Contains(notes[0].Text, "held") ||
			len(notes[0].At) < 4 {
			t.Errorf("%+v", notes)
		}
	}
}

// What was searched before an interruption stays, and the search can go on from there.
func TestCeilingInterrupted(t *testing.T) {
	r, s := ceilingRun(), &simulated{capacity: 70_000, stopAt: 7}
	dir := t.TempDir()
	samples, err := Run(context.Background(), dir, r, noSkip, s, &events{})
	if err == nil || len(samples) != 9+7 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	judgeRun(t, dir, r)
	s.stopAt = 0
	if samples, err = Run(context.Background(), dir, r, noSkip, s, &events{}); err != nil || len(samples) != 9+s.steps {
		t.Fatalf("%d samples, %d steps, %v", len(samples), s.steps, err)
	}
	whole := &simulated{capacity: 70_000}
	if _, err := Run(context.Background(), t.TempDir(), r, noSkip, whole, &events{}); err != nil || whole.steps != s.steps {
		t.Errorf("%d steps with a break, %d without, %v", s.steps, whole.steps, err)
	}
}

func TestHasCeiling(t *testing.T) {
	c := results.Cell{Scenario: "data-rate"}
	if !HasCeiling(c) {
		t.Error("data-rate at max has one")
	}
	c.Rate = 5
	if HasCeiling(c) || HasCeiling(results.Cell{Scenario: "ping-pong"}) {
		t.Error("a fixed rate and ping-pong have none")
	}
}
