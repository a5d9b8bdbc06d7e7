package broker

import (
	"slices"
	"testing"
	"time"

	"msgbench/measure"
)

// TestSeries counts what consumers send, and nothing that providers do.
func TestSeries(t *testing.T) {
	r, e := startRouter(t, Options{Meter: true})
	p := newPair(t, e, "s")
	p.exchange(t, 0) // before the window
	start := (measure.Now()/MeterStep + 1) * MeterStep
	time.Sleep(time.Duration(start - measure.Now()))
	const n = 100
	for i := range uint64(n) {
		p.exchange(t, i)
		if i == n/2 {
			time.Sleep(3 * MeterStep)
		}
	}
	for _, steps := range []int{1, 2, 3} {
		v := r.Series(start, MeterStep, steps)
		var sum int64
		for _, k := range v {
			sum += k
		}
		if len(v) != steps || sum != n || steps == 3 && v[0] == n {
			t.Errorf("%d steps: %v, want %d messages in all", steps, v, n)
		}
	}
	for _, v := range [][]int64{r.Series(start+1, MeterStep, 1), r.Series(start-int64(time.Hour)/MeterStep*MeterStep, MeterStep, 1),
		r.Series(start, MeterStep, 0), r.Series(start, 0, 1), r.Series(start+int64(24*time.Hour), MeterStep, 1)} {
		if v != nil {
			t.Errorf("it tells %v of what it has not counted", v)
		}
	}
	plain, _ := startRouter(t, Options{})
	if v := plain.Series(start, MeterStep, 1); v != nil {
		t.Errorf("without a meter: %v", v)
	}
}

// TestMeterPages counts over the edge of a page, at its first step and at its last.
func TestMeterPages(t *testing.T) {
	m := newMeter()
	begin := m.first * MeterStep
	for _, i := range []int64{0, pageSteps - 1, pageSteps, meterPages*pageSteps - 1} {
		m.add(begin+i*MeterStep, i+1)
	}
	m.add(begin-1, 1)
	m.add(begin+meterPages*pageSteps*MeterStep, 1)
	var got []int64
	for _, w := range [][2]int64{{0, 1}, {0, pageSteps}, {pageSteps, pageSteps + 1}, {1, pageSteps - 1}, {0, meterPages * pageSteps}} {
		n, ok := m.sum(begin+w[0]*MeterStep, begin+w[1]*MeterStep)
		if !ok {
			t.Errorf("%v: not known", w)
		}
		got = append(got, n)
	}
	if want := []int64{1, 1 + pageSteps, pageSteps + 1, 0, 1 + pageSteps + pageSteps + 1 + meterPages*pageSteps}; !slices.Equal(got, want) {
		t.Errorf("sums %v, want %v", got, want)
	}
}
