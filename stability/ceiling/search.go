// Package ceiling searches for the highest rate that a stream holds, and judges whether one try of a rate does. It is pure:
// somebody else measures. docs/method.md tells the rules for people.
package ceiling

import "msgbench/results"

const (
	// Tries is how often a rate is tried at most; most of them decide.
	Tries    = 3
	majority = Tries/2 + 1
	// Precision is how far apart, as a share, the last rate that held and the first that did not may be at the end.
	Precision = 0.03
)

// Search doubles the rate until one does not hold (or, from a start that does not, halves it until one does), then halves
// the distance between the two.
type Search struct {
	most         int // messages per second that nobody may exceed
	rate         int // being tried
	holds, fails int // tries of it
	held, failed int // highest rate that held, lowest that did not; 0: none yet
	done         bool
}

// New is a search from that rate, at least 1, up to most.
func New(start, most int) *Search { return &Search{most: most, rate: min(max(start, 1), most)} }

// Next is the rate to try now; false when the search is over.
func (s *Search) Next() (rate int, ok bool) { return s.rate, !s.done }

// Try is how many tries the current rate has had.
func (s *Search) Try() int { return s.holds + s.fails }

// Report tells whether the try that Next asked for held.
func (s *Search) Report(holds bool) {
	if s.done {
		return
	}
	if holds {
		s.holds++
	} else {
		s.fails++
	}
	switch {
	case s.holds == majority:
		s.held = s.rate
	case s.fails == majority:
		s.failed = s.rate
	default:
		return
	}
	s.holds, s.fails = 0, 0
	s.rate, s.done = s.next()
}

func (s *Search) next() (rate int, done bool) {
	switch {
	case s.failed == 0:
		return min(s.most, 2*s.held), s.held == s.most
	case s.held == 0:
		return max(s.failed/2, 1), s.failed == 1
	}
	apart := s.failed - s.held
	return s.held + apart/2, apart == 1 || float64(apart) <= Precision*float64(s.held)
}

// Result is the highest rate that held and the lowest that did not; 0 where there is none. Every rate that held is below
// every one that did not, since the search never tries a rate on the far side of a decision.
func (s *Search) Result() (held, failed int) { return s.held, s.failed }

// Result is that of a search from its steps, in any order and possibly incomplete.
func Result(steps []results.Step) (held, failed int) {
	holds, fails := map[int]int{}, map[int]int{}
	for _, x := range steps {
		if x.Holds {
			holds[x.Rate]++
		} else {
			fails[x.Rate]++
		}
		switch {
		case holds[x.Rate] == majority:
			held = max(held, x.Rate)
		case fails[x.Rate] == majority && (failed == 0 || x.Rate < failed):
			failed = x.Rate
		}
	}
	return held, failed
}
