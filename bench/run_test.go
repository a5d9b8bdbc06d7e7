package bench

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"msgbench/results"
	"msgbench/results/hist"
	"msgbench/stability"
)

// fakeSampler gives samples without running anything. outcome says what becomes of the nth one of a cell.
type fakeSampler struct {
	taken   []string
	n       map[string]int
	rate    func(cell string, n int) float64 // operations per second
	outcome func(cell string, n int) string
	stop    context.CancelFunc // called before the sample of that place
	stopAt  int
}

func (f *fakeSampler) Sample(ctx context.Context, c results.Cell) (results.Sample, error) {
	key := c.Key()
	if f.n == nil {
		f.n = map[string]int{}
	}
	n := f.n[key]
	f.n[key]++
	if f.stop != nil && len(f.taken) == f.stopAt {
		f.stop()
		return results.Sample{}, ctx.Err()
	}
	f.taken = append(f.taken, key)
	s := results.Sample{Cell: key, Started: time.Now(), Outcome: results.OK}
	if f.outcome != nil {
		s.Outcome = f.outcome(key, n)
	}
	if s.Outcome != results.OK {
		s.Reason = "because: so"
	}
	if s.Outcome != results.Failed {
		ops := int64(1000)
		if f.rate != nil {
			ops = int64(f.rate(key, n))
		}
		h := hist.New()
		for range 100 {
			h.Record(1e9 / ops)
		}
		s.Measurement = &results.Measurement{Loop: results.Closed, LatencyKind: results.RTT, WindowNs: 1e9, Ops: ops, Sent: ops, Received: ops, Latency: h}
	}
	return s, nil
}

// events records what a run told.
type events struct {
	before, after, rounds int
	reruns                [][]string
	widths                int
	more                  [][]string
	total                 int           // as last told
	left                  time.Duration // as first told
}

func (e *events) Round(RoundInfo) { e.rounds++ }
func (e *events) Before(_ results.Cell, _, total int, left time.Duration) {
	if e.before++; e.before == 1 {
		e.left = left
	}
	e.total = total
}
func (e *events) After(results.Sample)                       { e.after++ }
func (e *events) Rerun(keys []string, _ time.Duration)       { e.reruns = append(e.reruns, keys) }
func (e *events) Width(stability.Width)                      { e.widths++ }
func (e *events) More(keys []string, _ int, _ time.Duration) { e.more = append(e.more, keys) }

func noSkip(results.Cell) string { return "" }

func testRun(samples int, transports ...string) results.Run {
	r := results.Run{Seed: 11, Policy: results.DefaultPolicy()}
	r.Policy.Samples = samples
	for _, t := range transports {
		r.Cells = append(r.Cells, results.Cell{Scenario: "ping-pong", Transport: t, Client: "go", Server: "go", Payload: 8})
	}
	return r
}

func TestRoundsAreInterleaved(t *testing.T) {
	r := testRun(5, "pipe", "shm", "uds", "tcp")
	f, e := &fakeSampler{}, &events{}
	dir := t.TempDir()
	samples, err := Run(context.Background(), dir, r, noSkip, f, e)
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) != 20 || e.before != 20 || e.after != 20 || e.rounds != 5 || len(e.reruns) != 0 {
		t.Fatalf("%d samples, told of %d and %d in %d rounds, %d reruns", len(samples), e.before, e.after, e.rounds, len(e.reruns))
	}
	for round := range 5 {
		var here []string
		for _, i := range Round(r.Seed, round, 4) {
			here = append(here, r.Cells[i].Key())
		}
		if got := f.taken[round*4 : round*4+4]; !slices.Equal(got, here) {
			t.Errorf("round %d: %v, want %v", round, got, here)
		}
	}
	written, cut, err := results.ReadJournal(filepath.Join(dir, results.JournalFile))
	if err != nil || cut != 0 || len(written) != 20 {
		t.Fatalf("journal: %d samples, %d bytes cut, %v", len(written), cut, err)
	}
	for i, s := range written {
		if s.Order != i || s.Round != i/4 || s.Attempt != 0 || s.Try != 0 {
			t.Errorf("sample %d: order %d, round %d, attempt %d, try %d", i, s.Order, s.Round, s.Attempt, s.Try)
		}
	}
}

func TestRejectedSamplesAreTakenAgainTwice(t *testing.T) {
	r := testRun(2, "pipe", "shm")
	f := &fakeSampler{outcome: func(cell string, n int) string {
		if cell == r.Cells[0].Key() && n < 4 { // all three tries of its first round, the first of its second
			return results.Rejected
		}
		return results.OK
	}}
	samples, err := Run(context.Background(), t.TempDir(), r, noSkip, f, &events{})
	if err != nil {
		t.Fatal(err)
	}
	var tries [][3]int
	for _, s := range samples {
		if s.Cell == r.Cells[0].Key() {
			ok := 0
			if s.Outcome == results.OK {
				ok = 1
			}
			tries = append(tries, [3]int{s.Round, s.Try, ok})
		}
	}
	want := [][3]int{{0, 0, 0}, {0, 1, 0}, {0, 2, 0}, {1, 0, 0}, {1, 1, 1}}
	if !slices.Equal(tries, want) {
		t.Errorf("round, try, valid: %v, want %v", tries, want)
	}
}

func TestCellsThatFallShortAreRunAgainOnce(t *testing.T) {
	r := testRun(5, "pipe", "shm", "uds")
	wild := r.Cells[1].Key()
	f := &fakeSampler{rate: func(cell string, n int) float64 {
		if cell == wild && n < 5 {
			return 1000 * float64(n+1)
		}
		return 1000
	}}
	e := &events{}
	samples, err := Run(context.Background(), t.TempDir(), r, noSkip, f, e)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.reruns) != 1 || !slices.Equal(e.reruns[0], []string{wild}) {
		t.Fatalf("reruns %v, want one of %s", e.reruns, wild)
	}
	if len(samples) != 20 {
		t.Fatalf("%d samples", len(samples))
	}
	for i, s := range samples[15:] {
		if s.Cell != wild || s.Attempt != 1 || s.Round != 5+i {
			t.Errorf("%s attempt %d round %d", s.Cell, s.Attempt, s.Round)
		}
	}
	r.Policy.Reruns = 0
	f.n, f.taken = nil, nil
	if samples, err = Run(context.Background(), t.TempDir(), r, noSkip, f, e); err != nil || len(samples) != 15 {
		t.Errorf("without reruns: %d samples, %v", len(samples), err)
	}
}

func TestFailedAndSkippedCells(t *testing.T) {
	r := testRun(3, "pipe", "shm", "uds")
	f := &fakeSampler{outcome: func(cell string, n int) string {
		if cell == r.Cells[0].Key() {
			return results.Failed
		}
		return results.OK
	}}
	skip := func(c results.Cell) string {
		if c.Transport == "uds" {
			return "not here"
		}
		return ""
	}
	samples, err := Run(context.Background(), t.TempDir(), r, skip, f, &events{})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, s := range samples {
		count[s.Cell+" "+s.Outcome]++
	}
	for _, c := range []struct {
		what string
		n    int
	}{{r.Cells[0].Key() + " failed", 1}, {r.Cells[1].Key() + " ok", 3}, {r.Cells[2].Key() + " skipped", 1}} {
		if count[c.what] != c.n {
			t.Errorf("%s: %d, want %d (%v)", c.what, count[c.what], c.n, count)
		}
	}
}

func TestInterruptedRunKeepsItsSamples(t *testing.T) {
	r := testRun(5, "pipe", "shm")
	ctx, cancel := context.WithCancel(context.Background())
	f := &fakeSampler{stop: cancel, stopAt: 3}
	dir := t.TempDir()
	samples, err := Run(ctx, dir, r, noSkip, f, &events{})
	if !errors.Is(err, context.Canceled) || len(samples) != 3 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	written, _, err := results.ReadJournal(filepath.Join(dir, results.JournalFile))
	if err != nil || len(written) != 3 {
		t.Errorf("journal: %d samples, %v", len(written), err)
	}
}

// A cell with samples is not skipped when its run goes on where it can't run: the journal stays as it was.
func TestResumedRunSkipsNoMeasuredCell(t *testing.T) {
	r := testRun(5, "pipe", "shm")
	ctx, cancel := context.WithCancel(context.Background())
	dir := t.TempDir()
	if _, err := Run(ctx, dir, r, noSkip, &fakeSampler{stop: cancel, stopAt: 3}, &events{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	skip := func(results.Cell) string { return "not here" }
	if _, err := Run(context.Background(), dir, r, skip, &fakeSampler{}, &events{}); err == nil || !strings.Contains(err.Error(), "can't run here now: not here") {
		t.Errorf("error %v", err)
	}
	written, _, err := results.ReadJournal(filepath.Join(dir, results.JournalFile))
	if err != nil || len(written) != 3 {
		t.Errorf("journal: %d samples, %v", len(written), err)
	}
	if samples, err := Run(context.Background(), dir, r, noSkip, &fakeSampler{}, &events{}); err != nil || len(samples) != 10 {
		t.Errorf("%d samples in the end, %v", len(samples), err)
	}
}

// All samples are returned, also those before an interruption.
func TestInterruptedRetryReturnsItsSamples(t *testing.T) {
	r := testRun(3, "pipe", "shm")
	dir := t.TempDir()
	if _, err := Run(context.Background(), dir, r, noSkip, &fakeSampler{}, &events{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	keys := map[string]bool{r.Cells[0].Key(): true}
	samples, err := Retry(ctx, dir, r, keys, &fakeSampler{stop: cancel, stopAt: 2}, &events{})
	if !errors.Is(err, context.Canceled) || len(samples) != 8 {
		t.Errorf("%d samples, %v", len(samples), err)
	}
}
