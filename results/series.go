package results

import (
	"slices"
	"time"
)

// Series is how a window of one-way messages went: counts in steps of StepNs from its start. The last step may be cut
// short by the window's end.
type Series struct {
	StepNs   int64   `json:"step_ns"`
	StartNs  int64   `json:"start_ns,omitempty"` // of the monotonic clock
	Sent     []int64 `json:"sent,omitempty"`
	Received []int64 `json:"received,omitempty"`
	// Routed is what a process in the middle forwarded from the sender, the last message of each channel, which only ends it,
	// among them.
	Routed []int64 `json:"routed,omitempty"`
	RSS    []int64 `json:"rss_bytes,omitempty"` // resident size of the receiver in bytes, about each second from the start on
}

// Seconds is how many messages were received in each full second of a window of that length.
func (s *Series) Seconds(windowNs int64) []int64 {
	if s == nil {
		return nil
	}
	return s.seconds(s.Received, windowNs)
}

// RoutedSeconds is Seconds for Routed.
func (s *Series) RoutedSeconds(windowNs int64) []int64 {
	if s == nil {
		return nil
	}
	return s.seconds(s.Routed, windowNs)
}

func (s *Series) seconds(counts []int64, windowNs int64) []int64 {
	if s.StepNs <= 0 || int64(time.Second)%s.StepNs != 0 {
		return nil
	}
	each := int(int64(time.Second) / s.StepNs)
	full := min(len(counts)/each, int(windowNs/int64(time.Second)))
	var v []int64
	for steps := range slices.Chunk(counts, each) {
		if len(v) == full {
			break
		}
		var n int64
		for _, x := range steps {
			n += x
		}
		v = append(v, n)
	}
	return v
}

// Backlog is how many messages were under way at the end of each step.
func (s *Series) Backlog() []float64 {
	if s == nil {
		return nil
	}
	v := make([]float64, min(len(s.Sent), len(s.Received)))
	var under int64
	for i := range v {
		under += s.Sent[i] - s.Received[i]
		v[i] = float64(under)
	}
	return v
}
