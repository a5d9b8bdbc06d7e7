package results

import (
	"slices"
	"time"
)

// Series is how a window of one-way messages went: counts in steps of StepNs from its start. The last step may be cut
// short by the window's end.
type Series struct {
	StepNs   int64   `json:"step_ns"`
	Sent     []int64 `json:"sent,omitempty"`
	Received []int64 `json:"received,omitempty"`
	RSS      []int64 `json:"rss_bytes,omitempty"` // resident size of the receiver in bytes, about each second from the start on
}

// Seconds is how many messages were received in each full second of a window of that length.
func (s *Series) Seconds(windowNs int64) []int64 {
	if s == nil || s.StepNs <= 0 || int64(time.Second)%s.StepNs != 0 {
		return nil
	}
	each := int(int64(time.Second) / s.StepNs)
	full := min(len(s.Received)/each, int(windowNs/int64(time.Second)))
	var v []int64
	for steps := range slices.Chunk(s.Received, each) {
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
