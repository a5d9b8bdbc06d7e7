package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"msgbench/results"
)

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
	goesOn, fails := r.Cells[0].Key(), r.Cells[1].Key()
	if want := [][]string{{goesOn, fails}, {goesOn}, {goesOn}, {goesOn}}; fmt.Sprint(e.more) != fmt.Sprint(want) {
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
