package ceiling

import "math"

// Line is a trend and how sure it is.
type Line struct {
	Slope  float64 // units per second
	Lo, Hi float64 // its 95 % interval; infinite for fewer than 3 points
}

// Flat tells whether the interval contains 0.
func (l Line) Flat() bool { return l.Lo <= 0 && l.Hi >= 0 }

// Fit is the slope of values that stand step seconds apart, by ordinary least squares, with its 95 % interval by Student's t.
//
// The points of a queue resemble their neighbours, so that n of them tell less than n independent ones would: the interval
// uses n·(1−r)/(1+r) for n, where r (from 0 on) is the correlation of neighbouring residuals. A value is not known better than
// to ±resolution: the residuals are taken to scatter at least so much.
func Fit(values []float64, step, resolution float64) Line {
	n := float64(len(values))
	if n < 2 {
		return Line{Lo: math.Inf(-1), Hi: math.Inf(1)}
	}
	var mean float64
	for _, v := range values {
		mean += v / n
	}
	middle := (n - 1) / 2
	var sxx, sxy float64
	for i, v := range values {
		x := (float64(i) - middle) * step
		sxx += x * x
		sxy += x * (v - mean)
	}
	l := Line{Slope: sxy / sxx}
	var square, beside, last float64
	for i, v := range values {
		r := v - mean - l.Slope*(float64(i)-middle)*step
		square += r * r
		if i > 0 {
			beside += r * last
		}
		last = r
	}
	correlation := 0.0
	if square > 0 {
		correlation = min(max(beside/square, 0), 0.99)
	}
	freedom := n*(1-correlation)/(1+correlation) - 2
	if freedom < 1 {
		if n < 3 {
			l.Lo, l.Hi = math.Inf(-1), math.Inf(1)
			return l
		}
		freedom = 1
	}
	scatter := max(math.Sqrt(square/freedom), resolution)
	half := student(freedom) * scatter / math.Sqrt(sxx)
	l.Lo, l.Hi = l.Slope-half, l.Slope+half
	return l
}

// student is the 0.975 quantile of Student's t, by the expansion of Cornish and Fisher: within 1 % from 3 degrees of freedom on,
// and exact for 1 and 2.
func student(freedom float64) float64 {
	const z = 1.959963984540054
	switch {
	case freedom < 2:
		return 12.706 + (4.303-12.706)*(freedom-1)
	case freedom < 3:
		return 4.303 + (3.182-4.303)*(freedom-2)
	}
	z3, z5, z7 := z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	return z + (z3+z)/(4*freedom) + (5*z5+16*z3+3*z)/(96*freedom*freedom) +
		(3*z7+19*z5+17*z3-15*z)/(384*freedom*freedom*freedom)
}
