package results

import (
	"bytes"
	"encoding/json"

	"msgbench/results/hist"
)

// spare are histograms of samples that nobody needs any more; the next sample is read into their memory.
type spare [3]hist.Hist

// decode reads a sample from its line in a journal. Histograms are most of a line, and encoding/json goes over them three
// times, so they are cut out first, read on their own, and put back. A line that does not look as Append writes it is left
// to encoding/json as a whole; the result is the same. With spare histograms, those of the sample are good until these are used again.
func decode(line []byte, s *Sample, use *spare) error {
	short, cuts, ok := cutHistograms(line)
	if !ok || json.Unmarshal(short, s) != nil || !s.restore(cuts, use) {
		*s = Sample{}
		return json.Unmarshal(line, s)
	}
	return nil
}

// The histograms of a measurement, as Append writes them after another field.
var histogramKeys = [3][]byte{[]byte(`,"latency_hist":`), []byte(`,"service_hist":`), []byte(`,"lateness_hist":`)}

// placeholder stands where a histogram was cut out: one that no other check refuses, and that shows whether it was in the
// place where a measurement has it.
const placeholder = `{"min":1,"max":1,"sum":1,"values":[[1,1]]}`

// cutHistograms gives the line with placeholders, and what they stand for, by histogramKeys; nil where there is none. It
// is not ok where a key stands twice. In JSON a comma and a quote in a row are never within a string.
func cutHistograms(line []byte) (short []byte, cuts [3][]byte, ok bool) {
	from := 0
	for i, key := range histogramKeys {
		at := bytes.Index(line[from:], key)
		if at < 0 {
			continue
		}
		at += from + len(key)
		end := bytes.Index(line[at:], []byte("]]}"))
		if end < 0 || line[at] != '{' {
			return nil, cuts, false
		}
		end += at + len("]]}")
		cuts[i] = line[at:end]
		short = append(append(short, line[from:at]...), placeholder...)
		from = end
	}
	short = append(short, line[from:]...)
	for i, key := range histogramKeys {
		if n := bytes.Count(short, key); n > 1 || n == 1 && cuts[i] == nil {
			return nil, cuts, false
		}
	}
	return short, cuts, true
}

// restore puts histograms back where their placeholders are. It is false where one is somewhere else, or is none.
func (s *Sample) restore(cuts [3][]byte, use *spare) bool {
	if s.Measurement == nil {
		return cuts[0] == nil && cuts[1] == nil && cuts[2] == nil
	}
	m := s.Measurement
	for i, to := range []**hist.Hist{&m.Latency, &m.Service, &m.Lateness} {
		if cuts[i] == nil {
			continue
		}
		if *to == nil || (*to).Count() != 1 { // encoding/json takes other spellings of the key too, and the last one counts
			return false
		}
		*to = new(hist.Hist)
		if use != nil {
			*to = &use[i]
		}
		if (*to).Read(cuts[i]) != nil {
			return false
		}
	}
	return true
}
