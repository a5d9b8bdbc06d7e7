package stability

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"msgbench/results"
)

// looks are the numbers of rounds of an attempt after which a run with a precision looks whether it has enough. They are
// fixed, and few: whoever looks after every sample and stops when he likes what he sees finds intervals that are too narrow.
var looks = []int{6, 9, 13, 19, 28}

// Looks gives the numbers of rounds after which an attempt may end, ascending: Samples alone without a precision, else
// the fixed ones (6, 9, 13, 19, 28) from Samples on; none where Samples is above them all.
func Looks(p results.Policy) []int {
	if p.Precision == 0 {
		return []int{p.Samples}
	}
	i, _ := slices.BinarySearch(looks, p.Samples)
	return looks[i:]
}

// Width tells how narrow the intervals of a cell are. A width is the larger of the distances from the median to the two
// ends of its interval (95 % in spite of all looks, see lookLevel), in parts of the median: 0.03 is ±3 %. It is NaN where
// there is no interval.
type Width struct {
	Samples    int // valid ones
	Throughput float64
	P50        float64 // of the service time; NaN where a scenario has no latency, too
	Timed      bool    // whether it has one
}

// WidthOf is the width of the valid samples of one attempt among those of a cell.
func WidthOf(samples iter.Seq2[results.Sample, error], attempt int) (Width, error) {
	var valid []*placed
	for s, err := range samples {
		if err != nil {
			return Width{}, err
		}
		if s.Outcome == results.OK && s.Attempt == attempt {
			valid = append(valid, place(&s))
		}
	}
	return widthOf(valid), nil
}

func widthOf(valid []*placed) Width {
	w := Width{Samples: len(valid), Throughput: width(throughputs(valid)), P50: math.NaN()}
	w.Timed = slices.ContainsFunc(valid, isTimed)
	if w.Timed {
		w.P50 = width(p50s(valid))
	}
	return w
}

func width(values []float64) float64 {
	lo, hi, ok := lookInterval(values)
	if m := median(values); ok && m > 0 {
		return max(hi-m, m-lo) / m
	}
	return math.NaN()
}

// Within tells whether all widths are at most the precision, from six samples on.
func (w Width) Within(precision float64) bool {
	limit := precision * (1 + slack)
	return w.Samples >= looks[0] && w.Throughput <= limit && (!w.Timed || w.P50 <= limit)
}

// String is like "throughput ±1.2 %, p50 ±2.7 %".
func (w Width) String() string {
	parts := []string{"throughput " + plusMinus(w.Throughput)}
	if w.Timed {
		parts = append(parts, "p50 "+plusMinus(w.P50))
	}
	return strings.Join(parts, ", ")
}

func plusMinus(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	return "±" + percent(v)
}

// percent is a share for people, rounded up, so that what is said to be within a limit is.
func percent(v float64) string {
	v = math.Ceil(v*1e4*(1-slack)) / 100
	if v >= 10 {
		v = math.Ceil(v*10*(1-slack)) / 10
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + " %"
}

// ending is why an attempt of a cell got no more samples.
type ending string

const (
	unfinished ending = ""        // it is to get more
	enough     ending = "enough"  // precise, or as many as were asked for
	limited    ending = "limited" // the last look, and not precise
	outOfTime  ending = "time"    // MaxTime
)

// state is what the policy makes of one attempt of a cell.
type state struct {
	ending ending
	width  Width // at the last look
}

// before is what an attempt was after so many rounds of its cell.
func (a attempt) before(rounds int) attempt {
	if len(a.samples) == 0 {
		return a
	}
	end := a.samples[0].round + rounds
	i, _ := slices.BinarySearchFunc(a.samples, end, func(s *placed, end int) int { return s.round - end })
	a.samples = a.samples[:i]
	return a
}

// over tells whether no sample more can change what comes out.
func (a attempt) over() bool { return len(a.of(results.Failed)) > 0 || len(a.of(results.Skipped)) > 0 }

// endings replays the looks of one attempt of all cells that have samples in it: by cell, in the order of groups. The
// second result is, for each look, which cells went on after it, as far as all cells have come to it. It is a function of the
// samples up to each look alone, so that a run that is resumed decides as it did.
func endings(p results.Policy, groups []cellSamples, number int) (states []state, on [][]int) {
	states = make([]state, len(groups))
	var in []int // cells that go on
	attempts := make([]attempt, len(groups))
	for i, g := range groups {
		if k := slices.IndexFunc(g.attempts, func(a attempt) bool { return a.number == number }); k >= 0 {
			attempts[i], in = g.attempts[k], append(in, i)
		}
	}
	whole := true // all cells have come this far; in a run merged from shards some may be further than those of a part that was interrupted
	ns := Looks(p)
	for k, n := range ns {
		var next []int
		waiting, goes := false, make([]bool, len(groups))
		for _, i := range in {
			a, s := attempts[i].before(n), &states[i]
			s.ending = unfinished
			if a.over() {
				continue // failed and skipped rows have no figures
			}
			if p.Precision > 0 {
				s.width = widthOf(a.of(results.OK))
			}
			switch {
			case a.rounds() < n:
				waiting = true
			case p.Precision == 0, s.width.Within(p.Precision):
				s.ending = enough
			case k == len(ns)-1:
				s.ending = limited
			default:
				goes[i] = true
			}
		}
		for _, i := range in {
			other := groups[i].partner // a pair is measured in the same rounds
			if (goes[i] || other >= 0 && goes[other]) && !attempts[i].before(n).over() {
				next = append(next, i)
			}
		}
		whole = whole && !waiting
		if len(next) == 0 || !whole && p.MaxTime > 0 {
			return states, on
		}
		if p.MaxTime > 0 && spent(groups, number, n)+expected(attempts, next, n, ns[k+1]-n) > time.Duration(p.MaxTime) {
			for _, i := range next {
				if goes[i] {
					states[i].ending = outOfTime
				}
			}
			return states, on
		}
		if whole {
			on = append(on, next)
		}
		in = next
	}
	return states, on
}

// settle finds the states of all attempts.
func settle(p results.Policy, groups []cellSamples) {
	most := -1
	for i := range groups {
		g := &groups[i]
		g.states = make([]state, len(g.attempts))
		for k, a := range g.attempts {
			most = max(most, a.number)
			if p.Precision == 0 && a.rounds() >= p.Samples {
				g.states[k].ending = enough
			}
		}
	}
	if p.Precision == 0 {
		return
	}
	for number := range most + 1 {
		states, _ := endings(p, groups, number)
		for i, g := range groups {
			for k, a := range g.attempts {
				if a.number == number {
					g.states[k] = states[i]
				}
			}
		}
	}
}

// spent is the time that samples took up to a look. A retry has a time of its own.
func spent(groups []cellSamples, number, rounds int) time.Duration {
	var ns int64
	for _, g := range groups {
		for _, a := range g.attempts {
			switch {
			case a.number == number:
				a = a.before(rounds)
			case a.number > number || number > 1:
				continue
			}
			for _, s := range a.samples {
				ns += s.wallNs
			}
		}
	}
	return time.Duration(ns)
}

// expected is about how long more rounds of some cells take, by what they took so far.
func expected(attempts []attempt, cells []int, done, rounds int) time.Duration {
	var ns int64
	for _, i := range cells {
		var took int64
		for _, s := range attempts[i].before(done).samples {
			took += s.wallNs
		}
		ns += took * int64(rounds) / int64(done)
	}
	return time.Duration(ns)
}

// GoOn gives the keys of the cells that an attempt is to measure on from one of its Looks to the next, in the order of
// run.Cells: those that are not precise enough after look, an index into Looks. There are none where a limit was reached. All
// cells of the attempt must have come to that look. What the journal has beyond it does not matter.
func GoOn(run results.Run, samples Samples, attempt, look int) ([]string, error) {
	if run.Policy.Precision == 0 {
		return nil, nil
	}
	g, err := group(run, samples, nil)
	if err != nil {
		return nil, err
	}
	_, on := endings(run.Policy, g, attempt)
	if look >= len(on) {
		return nil, nil
	}
	var keys []string
	for _, i := range on[look] {
		keys = append(keys, g[i].key)
	}
	return keys, nil
}

// text says of a cell how precise it came out, or why it did not.
func (s state) text(p results.Policy) string {
	why := "when the run was interrupted"
	switch s.ending {
	case enough:
		return fmt.Sprintf("±%s reached with %d samples: %s", percent(p.Precision), s.width.Samples, s.width)
	case limited:
		why = fmt.Sprintf("in %d rounds, the most it takes", looks[len(looks)-1])
	case outOfTime:
		why = fmt.Sprintf("since more samples would take the run beyond max-time %s", p.MaxTime)
	}
	return fmt.Sprintf("±%s not reached %s (%d samples): %s", percent(p.Precision), why, s.width.Samples, s.width)
}
