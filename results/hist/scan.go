package hist

import "bytes"

// scan reads a histogram as MarshalJSON writes it, ten times as fast as encoding/json: journals are histograms for the
// most part. Anything else, be it JSON or not, is not ok and left to encoding/json.
func scan(data []byte) (w wire, ok bool) {
	s := scanner{data, true}
	s.skip(`{"min":`)
	w.Min = s.integer()
	s.skip(`,"max":`)
	w.Max = s.integer()
	s.skip(`,"sum":`)
	w.Sum = s.integer()
	if s.has(`,"clamped":`) {
		w.Clamped = s.integer()
	}
	s.skip(`,"values":[`)
	w.Values = make([][2]int64, 0, bytes.Count(s.left, []byte("[")))
	for s.ok && !s.has("]") {
		if len(w.Values) > 0 {
			s.skip(",")
		}
		s.skip("[")
		ns := s.integer()
		s.skip(",")
		w.Values = append(w.Values, [2]int64{ns, s.integer()})
		s.skip("]")
	}
	return w, s.ok && string(s.left) == "}"
}

// scanner goes through JSON without spaces. Once not ok, it stays so.
type scanner struct {
	left []byte
	ok   bool
}

// has skips what is next, if that is it.
func (s *scanner) has(what string) bool {
	if len(s.left) < len(what) || string(s.left[:len(what)]) != what {
		return false
	}
	s.left = s.left[len(what):]
	return true
}

func (s *scanner) skip(what string) { s.ok = s.has(what) && s.ok }

// integer reads an integer of at most 18 digits, so that none overflows.
func (s *scanner) integer() int64 {
	sign := int64(1)
	if s.has("-") {
		sign = -1
	}
	var v int64
	n := 0
	for n < len(s.left) && n < 19 && s.left[n] >= '0' && s.left[n] <= '9' {
		v = v*10 + int64(s.left[n]-'0')
		n++
	}
	if n == 0 || n > 18 || n > 1 && s.left[0] == '0' {
		s.ok = false
		return 0
	}
	s.left = s.left[n:]
	return sign * v
}
