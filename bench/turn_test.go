package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"msgbench/results"
)

func TestDisturbed(t *testing.T) {
	for _, c := range []struct {
		name                 string
		steal, foreign, step int64 // of 1000
		limit                float64
		want                 bool
	}{
		{"calm", 0, 0, 0, 0.05, false},
		{"at the limit", 25, 25, 0, 0.05, false},
		{"beyond, by steal", 51, 0, 0, 0.05, true},
		{"beyond, by others", 0, 51, 0, 0.05, true},
		{"beyond, by both", 26, 25, 0, 0.05, true},
		{"within the counters' step", 51, 0, 1, 0.05, false},
		{"beyond it", 52, 0, 1, 0.05, true},
		{"off", 1000, 1000, 0, 0, false},
	} {
		i := &results.Interference{SpanNs: 500, ShareNs: 1000, StealNs: c.steal, ForeignNs: c.foreign, StepNs: c.step}
		if got := disturbed(i, c.limit); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if disturbed(nil, 0.05) {
		t.Error("disturbed by what nobody has seen")
	}
}

// What decides is given the interference, and that holds nothing that was measured.
func TestInterferenceHoldsNoResult(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(x reflect.Type) {
		if seen[x] {
			return
		}
		seen[x] = true
		switch x.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(x.Elem())
		case reflect.Struct:
			for i := range x.NumField() {
				walk(x.Field(i).Type)
			}
		case reflect.Interface, reflect.Func, reflect.Chan:
			t.Errorf("may hold anything: %s", x)
		}
	}
	f := reflect.TypeOf(interfered)
	for i := range f.NumIn() {
		walk(f.In(i))
	}
	for _, x := range []reflect.Type{reflect.TypeFor[results.Measurement](), reflect.TypeFor[results.Sample]()} {
		if seen[x] {
			t.Errorf("the decision can see a %s", x)
		}
	}
}

// drawn gives samples from two lists of the same length: what disturbed the nth, and what it measured.
type drawn struct {
	interference []results.Interference
	ops          []int64
	n            int
	stop         context.CancelFunc
	stopAt       int
}

func (d *drawn) Sample(ctx context.Context, c results.Cell) (results.Sample, error) {
	if d.stop != nil && d.n == d.stopAt {
		d.stop()
		return results.Sample{}, ctx.Err()
	}
	i := d.interference[d.n]
	m := &results.Measurement{WindowNs: 1e9, Ops: d.ops[d.n], Sent: d.ops[d.n], Received: d.ops[d.n]}
	d.n++
	return results.Sample{Cell: c.Key(), Outcome: results.OK, Interference: &i, Measurement: m}, nil
}

func interferences(r *rand.Rand, n int) (list []results.Interference, ops []int64) {
	for range n {
		i := results.Interference{SpanNs: 1e9, ShareNs: 2e9, CPUs: []int{0, 1}, StepNs: 4e7}
		if r.IntN(3) == 0 {
			i.StealNs, i.ForeignNs = r.Int64N(1e9), r.Int64N(1e9)
		}
		list = append(list, i)
		ops = append(ops, 1+r.Int64N(1e6))
	}
	return list, ops
}

// decisions are what a run decided about each sample, in the order of the journal.
func decisions(samples []results.Sample) (list []string) {
	for _, s := range samples {
		list = append(list, fmt.Sprint(s.Cell, s.Round, s.Try, s.Outcome, s.Reason, s.Interference.Disturbed, s.Interference.Kept))
	}
	return list
}

// Any other results, and no decision changes: neither which samples were disturbed, nor which were measured again, nor in
// which order cells were measured.
func TestShufflingResultsChangesNoDecision(t *testing.T) {
	run := testRun(6, "pipe", "shm", "uds", "tcp")
	run.Policy.Reruns = 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 0))
		list, ops := interferences(r, 100)
		first, err := Run(context.Background(), t.TempDir(), run, noSkip, &drawn{interference: list, ops: ops}, &events{})
		if err != nil {
			t.Fatal(err)
		}
		want := decisions(first)
		if again := slices.ContainsFunc(first, func(s results.Sample) bool { return s.Outcome == results.Disturbed }); !again {
			t.Fatalf("seed %d: nothing was measured again: this shows nothing", seed)
		}
		for range 5 {
			r.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
			got, err := Run(context.Background(), t.TempDir(), run, noSkip, &drawn{interference: list, ops: ops}, &events{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(decisions(got), want) {
				t.Fatalf("seed %d: other decisions:\n%v\nwant\n%v", seed, decisions(got), want)
			}
		}
	}
}

// On a machine that is never calm a run comes to its end, within its budget, and every cell has all its samples.
func TestBudgetOfDisturbedSamples(t *testing.T) {
	noisy := results.Interference{SpanNs: 1e9, ShareNs: 2e9, ForeignNs: 1e9}
	for _, c := range []struct {
		share   float64
		samples int
		cells   []string
		again   int
	}{
		{0.2, 5, []string{"pipe", "shm", "uds", "tcp"}, 4},
		{0.5, 6, []string{"pipe", "shm"}, 6},
		{0, 5, []string{"pipe"}, 0},
		{0.2, 5, []string{"pipe"}, 1},
		{1, 2, []string{"pipe", "shm"}, 4},
	} {
		run := testRun(c.samples, c.cells...)
		run.Policy.Budget, run.Policy.Reruns = c.share, 0
		d := &drawn{}
		for range 100 {
			d.interference, d.ops = append(d.interference, noisy), append(d.ops, 1000)
		}
		samples, err := Run(context.Background(), t.TempDir(), run, noSkip, d, &events{})
		if err != nil {
			t.Fatal(err)
		}
		kept, again := 0, 0
		perRound := map[int]int{}
		for _, s := range samples {
			switch {
			case s.Outcome == results.Disturbed:
				again++
				perRound[s.Round]++
			case s.Interference.Kept && s.Outcome == results.OK:
				kept++
			}
		}
		if again != c.again || kept != c.samples*len(c.cells) {
			t.Errorf("share %g of %d × %d: %d measured again, %d kept; want %d", c.share, c.samples, len(c.cells), again, kept, c.again)
		}
		if c.share == 0.5 && len(perRound) != c.samples {
			t.Errorf("the budget was not spread over the rounds: %v", perRound)
		}
	}
}

// A retry has a budget of its own: what the attempts before it have used up is theirs.
func TestRetryHasItsOwnBudget(t *testing.T) {
	run := testRun(5, "pipe", "shm")
	run.Policy.Budget, run.Policy.Reruns = 0.2, 0
	d := &drawn{}
	for range 100 {
		d.interference, d.ops = append(d.interference, results.Interference{SpanNs: 1e9, ShareNs: 2e9, ForeignNs: 1e9}), append(d.ops, 1000)
	}
	dir := t.TempDir()
	if _, err := Run(context.Background(), dir, run, noSkip, d, &events{}); err != nil {
		t.Fatal(err)
	}
	samples, err := Retry(context.Background(), dir, run, map[string]bool{run.Cells[0].Key(): true}, d, &events{})
	if err != nil {
		t.Fatal(err)
	}
	used := map[int]int{}
	for _, s := range samples {
		if s.Outcome == results.Disturbed {
			used[s.Attempt]++
		}
	}
	if used[0] != 2 || used[2] != 1 {
		t.Errorf("measured again, by attempt: %v, want 2 in the first and 1 in the retry", used)
	}
}

// Disturbed samples are measured again at the end of their round; of a pair, at once, so that the two stay next to each other.
func TestWhenDisturbedSamplesAreMeasuredAgain(t *testing.T) {
	noisy := results.Interference{SpanNs: 1e9, ShareNs: 2e9, ForeignNs: 1e9}
	calm := results.Interference{SpanNs: 1e9, ShareNs: 2e9}
	run := testRun(1, "pipe", "shm", "uds")
	run.Policy.Budget, run.Policy.Reruns = 1, 0
	keys := func() (list []string) {
		d := &drawn{interference: []results.Interference{noisy, calm, calm, calm, calm}, ops: []int64{1, 1, 1, 1, 1}}
		samples, err := Run(context.Background(), t.TempDir(), run, noSkip, d, &events{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			list = append(list, s.Cell)
		}
		return list
	}
	if k := keys(); len(k) != 4 || k[3] != k[0] || k[1] == k[0] {
		t.Errorf("%v", k)
	}
	run.Cells = run.Cells[:2]
	run.AB = &results.AB{Setting: "transport", A: "pipe", B: "shm", Pairs: []results.Pair{{A: run.Cells[0].Key(), B: run.Cells[1].Key()}}}
	if k := keys(); len(k) != 3 || k[1] != k[0] || k[2] == k[0] {
		t.Errorf("of a pair: %v", k)
	}
}

// A run that was interrupted at any sample goes on with the budget that it had, and makes the same decisions.
func TestResumedBudget(t *testing.T) {
	run := testRun(4, "pipe", "shm", "uds")
	run.Policy.Reruns = 0
	list, ops := interferences(rand.New(rand.NewPCG(7, 7)), 60)
	whole, err := Run(context.Background(), t.TempDir(), run, noSkip, &drawn{interference: list, ops: ops}, &events{})
	if err != nil {
		t.Fatal(err)
	}
	for at := range len(whole) {
		dir := t.TempDir()
		ctx, stop := context.WithCancel(context.Background())
		d := &drawn{interference: list, ops: ops, stop: stop, stopAt: at}
		if _, err := Run(ctx, dir, run, noSkip, d, &events{}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		d.stop = nil
		if _, err := Run(context.Background(), dir, run, noSkip, d, &events{}); err != nil {
			t.Fatal(err)
		}
		got, _, err := results.ReadJournal(filepath.Join(dir, results.JournalFile))
		if err != nil {
			t.Fatal(err)
		}
		used, valid := 0, 0
		for _, s := range got {
			switch s.Outcome {
			case results.Disturbed:
				used++
			case results.OK:
				valid++
			}
		}
		if valid != 12 || used > 3 {
			t.Errorf("interrupted at %d: %d valid samples, %d measured again", at, valid, used)
		}
	}
}
