package scenarios

import (
	"time"

	"msgbench/results"
)

// seriesStep is the length of one step of a window in the journal.
const seriesStep = int64(100 * time.Millisecond)

const (
	// drainSteps is the room for what comes after the window's planned end; what is later still counts in the last step.
	drainSteps = 20
	// countedSteps is the room for a window of a number of operations, whose length nobody knows before.
	countedSteps = 6000
)

// series counts messages in steps from the start of a window. It allocates only when it is made.
type series struct {
	start int64
	steps []int64
}

func newSeries(p Params) *series {
	n := int64(p.Window)/seriesStep + 1
	if p.Count > 0 {
		n = countedSteps
	}
	return &series{steps: make([]int64, n+drainSteps)}
}

func (s *series) begin(start int64) {
	s.start = start
	clear(s.steps)
}

// add counts n messages at the time t.
func (s *series) add(t, n int64) {
	s.steps[min(max(t-s.start, 0)/seriesStep, int64(len(s.steps)-1))] += n
}

// counts are the steps of a window of that length, the last one possibly cut short. It also holds what came at the very end.
func (s *series) counts(window int64) []int64 {
	n := min((window+seriesStep-1)/seriesStep, int64(len(s.steps)))
	for i := n; n > 0 && i < int64(len(s.steps)); i++ {
		s.steps[n-1] += s.steps[i]
		s.steps[i] = 0
	}
	return s.steps[:n]
}

// addTo adds the counts to those of other connections in the same window.
func (s *series) addTo(sum []int64, window int64) []int64 {
	c := s.counts(window)
	if sum == nil {
		sum = make([]int64, len(c))
	}
	for i, n := range c {
		sum[i] += n
	}
	return sum
}

// seriesOf is the series of a measurement, made if there is none yet.
func seriesOf(m *results.Measurement) *results.Series {
	if m.Series == nil {
		m.Series = &results.Series{StepNs: seriesStep}
	}
	return m.Series
}
