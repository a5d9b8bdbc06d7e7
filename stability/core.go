package stability

import (
	"math"
	"math/big"
	"slices"
	"strconv"

	"msgbench/results"
)

// slack absorbs the rounding of a division of two rates that were divisions themselves: 1.35 is then still 1.35.
const slack = 1e-12

// core is what is left of the ordered values when floor(n × trim) are dropped at each end.
type core struct {
	n        int     // samples left
	ratio    float64 // max/min of them; +Inf for a min of 0
	rawRatio float64 // max/min of all
	holds    bool    // enough samples left, and ratio within the limit
}

// coreOf applies rules 2 and 3 to one value a sample. A zero in the core never holds, nor does a value that is not known
// (NaN), wherever it would stand.
func coreOf(values []float64, p results.Policy) core {
	v := slices.Clone(values)
	slices.Sort(v)
	drop := dropped(len(v), p.Trim)
	c := core{n: max(len(v)-2*drop, 0), rawRatio: spread(v)}
	if c.n == 0 {
		return c
	}
	c.ratio = spread(v[drop : len(v)-drop])
	c.holds = c.n >= max(p.MinCore, 1) && within(c.ratio, p.CoreRatio) && !math.IsNaN(v[0])
	return c
}

// within tells whether a ratio keeps a limit; the limit itself does.
func within(ratio, limit float64) bool { return ratio <= limit*(1+slack) }

// spread is max/min of ascending values: NaN for none, +Inf where the smallest is not above 0.
func spread(v []float64) float64 {
	switch {
	case len(v) == 0:
		return math.NaN()
	case !(v[0] > 0):
		return math.Inf(1)
	}
	return v[len(v)-1] / v[0]
}

// dropped is floor(n × trim), computed from the decimal that was asked for: in binary 100 × 0.29 is less than 29.
func dropped(n int, trim float64) int {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(trim, 'g', -1, 64))
	if !ok || r.Sign() < 0 {
		return 0
	}
	r.Mul(r, big.NewRat(int64(n), 1))
	f := new(big.Int).Quo(r.Num(), r.Denom())
	if !f.IsInt64() || f.Int64() > int64(n) {
		return n
	}
	return int(f.Int64())
}

// median of the values, the mean of the two middle ones for an even number; NaN for none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Clone(values)
	slices.Sort(v)
	m := len(v) / 2
	if len(v)%2 == 1 {
		return v[m]
	}
	return v[m-1] + (v[m]-v[m-1])/2
}
