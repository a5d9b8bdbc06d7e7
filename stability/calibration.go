package stability

import (
	"fmt"
	"strconv"

	"msgbench/results"
)

// Calibration is what the machine did over the rounds of a run, or of one shard of it.
type Calibration struct {
	Of     string // the shard and its machine; empty for a run of its own
	Series []Series
	Failed []string // why there is none for a round
	Booted []int    // rounds, from 0, before which a machine of the run was booted anew
	boots  string   // of the last sample
}

// The names of the two series.
const (
	CacheLine = "cache line"
	Pipe      = "pipe"
)

// Series is one of the two times that a calibration measures.
type Series struct {
	Name   string
	Rounds []int // from 0, ascending; a round that was resumed stands there again
	Ns     []float64
}

// Calibrations are those of a run, or of each of the shards that it was merged from. There is none where the run was not
// calibrated.
type Calibrations []Calibration

// Add takes in a line of the journal; one that is no calibration changes nothing.
func (l *Calibrations) Add(s results.Sample) {
	c := s.Calibration
	if s.Outcome != results.Calibrated || c == nil {
		return
	}
	of := l.Of(c.Of)
	if of == nil {
		*l = append(*l, Calibration{Of: c.Of, boots: s.Boots})
		of = &(*l)[len(*l)-1]
	}
	if s.Boots != of.boots {
		of.boots = s.Boots
		of.Booted = append(of.Booted, s.Round)
	}
	if s.Reason != "" {
		of.Failed = append(of.Failed, fmt.Sprintf("round %d: %s", s.Round+1, oneLine(s.Reason)))
		return
	}
	if len(of.Series) == 0 {
		of.Series = []Series{{Name: CacheLine}, {Name: Pipe}}
	}
	for n, ns := range []float64{c.LineNs, c.PipeNs} {
		x := &of.Series[n]
		x.Rounds, x.Ns = append(x.Rounds, s.Round), append(x.Ns, ns)
	}
}

// Of is the calibration of a run of its own, or of a shard; nil where there is none.
func (l Calibrations) Of(shard string) *Calibration {
	for i := range l {
		if l[i].Of == shard {
			return &l[i]
		}
	}
	return nil
}

// Median in ns.
func (s Series) Median() float64 { return median(s.Ns) }

// Index is each time as a ratio to the median of all: above 1 the machine was slower than it mostly was.
func (s Series) Index() []float64 {
	m := s.Median()
	v := make([]float64, len(s.Ns))
	for i, ns := range s.Ns {
		v[i] = ns / m
	}
	return v
}

// Changed says that the machine changed under the run: the slowest round took more than limit times as long as the fastest.
// It is empty where it did not.
func (s Series) Changed(limit float64) string {
	slow, fast := 0, 0
	for i, ns := range s.Ns {
		if ns > s.Ns[slow] {
			slow = i
		}
		if ns < s.Ns[fast] {
			fast = i
		}
	}
	if within(s.Ns[slow]/s.Ns[fast], limit) {
		return ""
	}
	return fmt.Sprintf("%s: the machine changed under the run: %s in round %d, %s in round %d, %s", s.Name,
		TimeText(s.Ns[fast]), s.Rounds[fast]+1, TimeText(s.Ns[slow]), s.Rounds[slow]+1, above(s.Ns[slow]/s.Ns[fast], limit))
}

// TimeText is a time in ns for people, to three digits: 98.5 ns, 5.21 µs, 47.1 ms.
func TimeText(ns float64) string {
	unit := " ns"
	switch {
	case ns >= 999.5e3:
		ns, unit = ns/1e6, " ms"
	case ns >= 999.5:
		ns, unit = ns/1e3, " µs"
	}
	return threeDigits(ns) + unit
}

// threeDigits is a number to three digits, all of those before the point included.
func threeDigits(v float64) string {
	d := 2
	switch {
	case v >= 99.95:
		d = 0
	case v >= 9.995:
		d = 1
	}
	return strconv.FormatFloat(v, 'f', d, 64)
}

// Text is the median for people.
func (s Series) Text() string { return TimeText(s.Median()) }
