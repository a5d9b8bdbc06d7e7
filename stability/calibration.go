package stability

import (
	"fmt"
	"slices"
	"strconv"

	"msgbench/results"
)

// Calibration is what the machine did over the rounds of a run, or of one shard of it.
type Calibration struct {
	Of     string // the shard and its machine; empty for a run of its own
	Series []Series
	Failed []string // why there is none for a round
	Booted []int    // rounds, from 0, before which a machine of the run was booted anew
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

// Calibrations gives the calibrations of a run, or of each of the shards that it was merged from. There is none where the run
// was not calibrated.
func Calibrations(samples []results.Sample) []Calibration {
	var list []Calibration
	var boots []string // of the last sample of each
	at := map[string]int{}
	for _, s := range samples {
		if s.Outcome != results.Calibrated || s.Calibration == nil {
			continue
		}
		c := s.Calibration
		i, ok := at[c.Of]
		if !ok {
			i = len(list)
			at[c.Of] = i
			boots = append(boots, s.Boots)
			list = append(list, Calibration{Of: c.Of, Series: []Series{{Name: CacheLine}, {Name: Pipe}}})
		}
		if s.Boots != boots[i] {
			boots[i] = s.Boots
			list[i].Booted = append(list[i].Booted, s.Round)
		}
		if s.Reason != "" {
			list[i].Failed = append(list[i].Failed, fmt.Sprintf("round %d: %s", s.Round+1, oneLine(s.Reason)))
			continue
		}
		for n, ns := range []float64{c.LineNs, c.PipeNs} {
			x := &list[i].Series[n]
			x.Rounds, x.Ns = append(x.Rounds, s.Round), append(x.Ns, ns)
		}
	}
	for i := range list {
		list[i].Series = slices.DeleteFunc(list[i].Series, func(s Series) bool { return len(s.Ns) == 0 })
	}
	return list
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
