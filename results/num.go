package results

import (
	"fmt"
	"math"
	"strconv"
)

// Num is a number of a row that may be missing. It is kept to three decimals, so that what is computed from a row is the
// same before and after a trip through the CSV.
type Num struct {
	// bits are those of the number with its sign turned, so that none at all is a missing number: they would be those of −0,
	// which N never gives. A row has some sixty numbers, and a report may have 100,000 rows.
	bits uint64
}

// N is v rounded to three decimals. It is missing if v is not a finite number.
func N(v float64) Num {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Num{}
	}
	if math.Abs(v) < 1<<42 { // above, the product is not exact any more, and v has hardly a third decimal
		v = math.Round(v*1000) / 1000
	}
	return Num{math.Float64bits(-(v + 0))} // −0 + 0 is 0
}

// Us is ns nanoseconds as microseconds, if ok.
func Us(ns int64, ok bool) Num {
	if !ok {
		return Num{}
	}
	return N(float64(ns) / 1e3)
}

// Value returns the number and whether there is one.
func (n Num) Value() (float64, bool) { return -math.Float64frombits(n.bits) + 0, n.bits != 0 }

// Or returns the number, or d where it is missing.
func (n Num) Or(d float64) float64 {
	if v, ok := n.Value(); ok {
		return v
	}
	return d
}

// OK tells whether there is a number.
func (n Num) OK() bool { return n.bits != 0 }

// String is the shortest decimal form, empty when missing.
func (n Num) String() string {
	v, ok := n.Value()
	if !ok {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// MarshalText writes String.
func (n Num) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText reads a plain decimal number, or nothing for a missing one. NaN, Inf and hexadecimal are refused.
func (n *Num) UnmarshalText(text []byte) error {
	v, err := parseNum(text)
	if err == nil {
		*n = v
	}
	return err
}

func parseNum(text []byte) (Num, error) {
	if len(text) == 0 {
		return Num{}, nil
	}
	if n, ok := parsePlain(text); ok {
		return n, nil
	}
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != 'e' && c != 'E' && c != '+' {
			return Num{}, fmt.Errorf("%q is not a number", text)
		}
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(v, 0) {
		return Num{}, fmt.Errorf("%q is not a number", text)
	}
	return N(v), nil
}

// parsePlain reads the numbers that rows are full of: up to 15 characters, up to three decimals. Both sides of the fraction are
// exact then, so the quotient is what strconv and N come to, in a fifth of the time.
func parsePlain(text []byte) (n Num, ok bool) {
	if len(text) == 0 || len(text) > 15 {
		return Num{}, false
	}
	digits, decimals := 0, 0
	for i, c := range text {
		switch {
		case c >= '0' && c <= '9':
			digits = 10*digits + int(c-'0')
		case c == '.' && decimals == 0 && i > 0 && i < len(text)-1:
			decimals = len(text) - 1 - i
		default:
			return Num{}, false
		}
	}
	if decimals > 3 {
		return Num{}, false
	}
	return Num{math.Float64bits(-(float64(digits) / [...]float64{1, 10, 100, 1000}[decimals]))}, true
}
