package results

import (
	"fmt"
	"math"
	"strconv"
)

// Num is a number of a row that may be missing. It is kept to three decimals, so that what is computed from a row is the
// same before and after a trip through the CSV.
type Num struct {
	v  float64
	ok bool
}

// N is v rounded to three decimals. It is missing if v is not a finite number.
func N(v float64) Num {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Num{}
	}
	if math.Abs(v) < 1<<42 { // above, the product is not exact any more, and v has hardly a third decimal
		v = math.Round(v*1000) / 1000
	}
	return Num{v + 0, true}
}

// Us is ns nanoseconds as microseconds, if ok.
func Us(ns int64, ok bool) Num {
	if !ok {
		return Num{}
	}
	return N(float64(ns) / 1e3)
}

// Value returns the number and whether there is one.
func (n Num) Value() (float64, bool) { return n.v, n.ok }

// Or returns the number, or d where it is missing.
func (n Num) Or(d float64) float64 {
	if n.ok {
		return n.v
	}
	return d
}

// OK tells whether there is a number.
func (n Num) OK() bool { return n.ok }

// String is the shortest decimal form, empty when missing.
func (n Num) String() string {
	if !n.ok {
		return ""
	}
	return strconv.FormatFloat(n.v, 'f', -1, 64)
}

// MarshalText writes String.
func (n Num) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText reads a plain decimal number, or nothing for a missing one. NaN, Inf and hexadecimal are refused.
func (n *Num) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*n = Num{}
		return nil
	}
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != 'e' && c != 'E' && c != '+' {
			return fmt.Errorf("%q is not a number", text)
		}
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(v, 0) {
		return fmt.Errorf("%q is not a number", text)
	}
	*n = N(v)
	return nil
}
