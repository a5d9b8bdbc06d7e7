package hist

import "bytes"

// scan reads a histogram as MarshalJSON writes it, many times as fast as encoding/json: journals are histograms for the
// most part. Anything else, be it JSON or not, is not ok and left to encoding/json. The values use the memory of values.
func scan(data []byte, values [][2]int64) (w wire, ok bool) {
	s := scanner{data: data, ok: true}
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
	w.Values = values[:0]
	for s.ok && !s.byte(']') {
		if len(w.Values) > 0 && !s.byte(',') || !s.byte('[') {
			return w, false
		}
		ns := s.integer()
		s.ok = s.byte(',') && s.ok
		count := s.integer()
		s.ok = s.byte(']') && s.ok
		w.Values = append(w.Values, [2]int64{ns, count})
	}
	return w, s.ok && string(data[s.at:]) == "}"
}

// scanner goes through JSON without spaces. Once not ok, it stays so.
type scanner struct {
	data []byte
	at   int
	ok   bool
}

// byte skips what is next, if that is it.
func (s *scanner) byte(b byte) bool {
	if s.at < len(s.data) && s.data[s.at] == b {
		s.at++
		return true
	}
	return false
}

// has is byte for several of them.
func (s *scanner) has(what string) bool {
	if bytes.HasPrefix(s.data[s.at:], []byte(what)) {
		s.at += len(what)
		return true
	}
	return false
}

func (s *scanner) skip(what string) { s.ok = s.has(what) && s.ok }

// integer reads an integer of at most 18 digits, so that none overflows.
func (s *scanner) integer() int64 {
	sign := int64(1)
	if s.byte('-') {
		sign = -1
	}
	from, at := s.at, s.at
	var v int64
	for at < len(s.data) && at < from+19 && s.data[at]-'0' <= 9 {
		v = v*10 + int64(s.data[at]-'0')
		at++
	}
	if n := at - from; n == 0 || n > 18 || n > 1 && s.data[from] == '0' {
		s.ok = false
		return 0
	}
	s.at = at
	return sign * v
}
