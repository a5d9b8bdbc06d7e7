package bench

import (
	"context"
	"errors"
	"fmt"
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

func TestJudge(t *testing.T) {
	lateness := func(ns int64, n int) *hist.Hist {
		h := hist.New()
		for i := range n {
			v := int64(100)
			if i%50 == 0 { // two in a hundred, so that p99 sees them
				v = ns
			}
			h.Record(v)
		}
		return h
	}
	for _, c := range []struct {
		name    string
		rate    int
		m       results.Measurement
		outcome string
	}{
		{"steady", 0, results.Measurement{Thirds: []int64{100, 100, 100}}, results.OK},
		{"at the limit", 0, results.Measurement{Thirds: []int64{100, 120, 135}}, results.OK},
		{"beyond it", 0, results.Measurement{Thirds: []int64{100, 120, 136}}, results.Rejected},
		{"falling", 0, results.Measurement{Thirds: []int64{136, 120, 100}}, results.Rejected},
		{"nothing at first", 0, results.Measurement{Thirds: []int64{0, 50, 100}}, results.Rejected},
		{"a shorter last third of a count", 0, results.Measurement{Thirds: []int64{100, 100, 100}, ThirdsNs: []int64{9e6, 8e6, 6e6}}, results.Rejected},
		{"thirds of equal length", 0, results.Measurement{Thirds: []int64{100, 100, 100}, ThirdsNs: []int64{9e6, 8e6, 9e6}}, results.OK},
		{"few at a low rate", 10, results.Measurement{Thirds: []int64{1, 2, 3}}, results.OK},
		{"late by little", 10_000, results.Measurement{Lateness: lateness(90_000, 2000)}, results.OK},
		{"late", 10_000, results.Measurement{Lateness: lateness(110_000, 2000)}, results.Rejected},
		{"a tenth of a long interval", 100, results.Measurement{Lateness: lateness(900_000, 2000)}, results.OK},
		{"more than that", 100, results.Measurement{Lateness: lateness(1_100_000, 2000)}, results.Rejected},
		{"the latest of few", 100, results.Measurement{Lateness: lateness(1_100_000, 60)}, results.Rejected},
	} {
		s := results.Sample{Measurement: &c.m}
		judge(&s, results.Cell{Rate: c.rate}, results.DefaultPolicy())
		if s.Outcome != c.outcome || (s.Reason == "") != (c.outcome == results.OK) {
			t.Errorf("%s: %s %q, want %s", c.name, s.Outcome, s.Reason, c.outcome)
		}
	}
}

// How good a result is has no say in whether it counts.
func TestJudgeDoesNotLookAtTheResult(t *testing.T) {
	for _, ops := range []int64{1, 1000, 1e9} {
		h := hist.New()
		h.Record(1e9 / ops)
		s := results.Sample{Measurement: &results.Measurement{WindowNs: 1e9, Ops: ops, Latency: h, Thirds: []int64{10, 10, 10}}}
		judge(&s, results.Cell{}, results.DefaultPolicy())
		if s.Outcome != results.OK {
			t.Errorf("%d operations a second: %s", ops, fmt.Sprint(s.Outcome, s.Reason))
		}
	}
}

// A run with a precision takes rounds of all cells up to the first look, then, interleaved, those that need more, look by look.
// Wherever it is cut, the resumed run takes the very same samples.
func TestPrecision(t *testing.T) {
	r := testRun(5, "pipe", "shm", "uds")
	r.Policy.Precision = 0.03
	rates := func(cell string, n int) float64 {
		switch cell {
		case r.Cells[0].Key(): // steady
			return 1000 + float64(n%2)
		case r.Cells[1].Key(): // just steady enough: 2.8 %
			return []float64{1000, 1029, 1029, 1029, 1029, 1029}[min(n, 5)]
		}
		return 1000 + float64(n*37%200)
	}
	dir, e, f := t.TempDir(), &events{}, &fakeSampler{rate: rates}
	whole, err := Run(context.Background(), dir, r, noSkip, f, e)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, s := range whole {
		count[s.Cell]++
	}
	if got := []int{count[r.Cells[0].Key()], count[r.Cells[1].Key()], count[r.Cells[2].Key()]}; !slices.Equal(got, []int{6, 6, 28}) {
		t.Errorf("%v samples", got)
	}
	if len(e.more) != 4 || e.widths != len(whole) || len(e.reruns) != 0 {
		t.Errorf("told of %d looks and %d widths of %d samples, %d reruns", len(e.more), e.widths, len(whole), len(e.reruns))
	}
	for i, s := range whole {
		if want := min(i/3, 6) + max(0, i-18); s.Round != want {
			t.Fatalf("sample %d is of round %d, want %d", i, s.Round, want)
		}
	}
	order := func(samples []results.Sample) (v []string) {
		for _, s := range samples {
			v = append(v, fmt.Sprint(s.Cell, s.Attempt, s.Round, s.Try))
		}
		return v
	}
	for _, at := range []int{0, 7, 17, 18, 19, 21, 22, 39} { // the looks are after 18, 21, 25 and 31 samples
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		f := &fakeSampler{rate: rates, stop: cancel, stopAt: at}
		if _, err := Run(ctx, dir, r, noSkip, f, &events{}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		f.stop = nil
		for k := range f.n {
			f.n[k] = 0
		}
		for _, key := range f.taken {
			f.n[key]++
		}
		again, err := Run(context.Background(), dir, r, noSkip, f, &events{})
		if err != nil || !slices.Equal(order(again), order(whole)) {
			t.Fatalf("cut after %d samples: %v\n%v\nwant\n%v", at, err, order(again), order(whole))
		}
	}
}

// Cells that fail or are skipped take no time, and no part in the looks.
func TestPrecisionOfFailedCells(t *testing.T) {
	r := testRun(5, "pipe", "shm", "uds")
	r.Policy.Precision = 0.03
	f := &fakeSampler{
		rate: func(cell string, n int) float64 { return 1000 + float64(n*37%200) },
		outcome: func(cell string, n int) string {
			if cell == r.Cells[1].Key() && n == 7 {
				return results.Failed
			}
			return results.OK
		},
	}
	skip := func(c results.Cell) string {
		if c.Transport == "uds" {
			return "not here"
		}
		return ""
	}
	e := &events{}
	samples, err := Run(context.Background(), t.TempDir(), r, skip, f, e)
	if err != nil || len(samples) != 1+8+28 {
		t.Errorf("%d samples, %v", len(samples), err)
	}
	if want := [][]string{{r.Cells[0].Key(), r.Cells[1].Key()}, {r.Cells[0].Key()}, {r.Cells[0].Key()}, {r.Cells[0].Key()}}; fmt.Sprint(e.more) != fmt.Sprint(want) {
		t.Errorf("went on with %v, want %v", e.more, want)
	}
	if e.total != 28+8 || e.left != 12*SampleTime(r.Policy, r.Cells[0])+5*calibrationTime {
		t.Errorf("told of %d samples in the end, and of %s at first", e.total, e.left)
	}
}

// Where one of a pair is not precise enough, both go on, in the same rounds.
func TestPrecisionOfPairs(t *testing.T) {
	r := testRun(5, "pipe", "shm", "uds", "tcp")
	key := func(i int) string { return r.Cells[i].Key() }
	r.AB = &results.AB{Setting: "transport", Pairs: []results.Pair{{A: key(0), B: key(1)}, {A: key(2), B: key(3)}}}
	r.Policy.Precision = 0.03
	f := &fakeSampler{rate: func(cell string, n int) float64 {
		if cell == key(1) && n < 6 {
			return 1000 + 20*float64(n)
		}
		return 1050
	}}
	samples, err := Run(context.Background(), t.TempDir(), r, noSkip, f, &events{})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, s := range samples {
		count[s.Cell]++
	}
	if count[key(0)] != count[key(1)] || count[key(1)] < 9 || count[key(2)] != 6 || count[key(3)] != 6 {
		t.Errorf("samples: %v", count)
	}
}
