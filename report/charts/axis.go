package charts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// axis maps values to 0…1. f must be increasing.
type axis struct {
	f      func(float64) float64
	lo, hi float64 // f of the ends
	ticks  []tick
}

type tick struct {
	at    float64
	label string
}

func (a axis) place(v float64) float64 {
	if a.hi <= a.lo {
		return 0.5
	}
	return (a.f(v) - a.lo) / (a.hi - a.lo)
}

// logAxis spans lo to hi with some air, with ticks at 1, 2 and 5, or at powers of ten where those would be too many.
func logAxis(lo, hi float64, label func(float64) string) axis {
	a := axis{f: math.Log10}
	air := max(0.03*(math.Log10(hi)-math.Log10(lo)), 0.02)
	a.lo, a.hi = math.Log10(lo)-air, math.Log10(hi)+air
	decades := a.hi - a.lo
	steps := []float64{1, 2, 5}
	switch {
	case decades > 3:
		steps = []float64{1}
	case decades < 0.7:
		steps = []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9}
	}
	for e := math.Floor(a.lo); e <= a.hi; e++ {
		if every := math.Ceil(decades / 8); steps[0] == 1 && len(steps) == 1 && math.Mod(e, every) != 0 {
			continue
		}
		for _, s := range steps {
			if v := s * math.Pow(10, e); math.Log10(v) >= a.lo && math.Log10(v) <= a.hi {
				a.ticks = append(a.ticks, tick{v, label(v)})
			}
		}
	}
	return a
}

// linearAxis spans 0 to hi, with about five round ticks.
func linearAxis(hi float64, label func(float64) string) axis {
	step := math.Pow(10, math.Floor(math.Log10(hi/4)))
	for _, m := range []float64{1, 2, 5, 10} {
		if hi/(step*m) <= 5 {
			step *= m
			break
		}
	}
	a := axis{f: func(v float64) float64 { return v }, hi: hi * 1.02}
	for i := 0.0; i*step <= a.hi; i++ {
		a.ticks = append(a.ticks, tick{i * step, label(i * step)})
	}
	return a
}

// valueAxis has a tick at each value that occurs; f spaces them.
func valueAxis(values []float64, f func(float64) float64, label func(float64) string) axis {
	v := slices.Compact(slices.Sorted(slices.Values(values)))
	a := axis{f: f, lo: f(v[0]), hi: f(v[len(v)-1])}
	for _, x := range v {
		a.ticks = append(a.ticks, tick{x, label(x)})
	}
	return a
}

// tailOf spaces shares so that each further nine takes the same room.
func tailOf(q float64) float64 { return -math.Log10(1 - q) }

// octaves spaces sizes by doublings; 0 stands one before 1.
func octaves(v float64) float64 { return math.Log2(max(v, 0.5)) }

// drawX writes ticks below the plot, leaving out labels that would touch the one before.
func (a axis) drawX(d *drawing, x, y, w, h float64) {
	free := math.Inf(-1)
	for _, t := range a.ticks {
		px := x + w*a.place(t.at)
		d.line(px, y, px, y+h, inkGrid, 1)
		half := textWidth(t.label, textSize) / 2
		lx := min(max(px, half), d.w-half)
		if lx-half < free {
			continue
		}
		free = lx + half + 6
		d.label(lx, y+h+15, t.label, middle, textSize, inkMuted)
	}
}

// drawY writes ticks left of the plot, leaving out labels that would touch the one below.
func (a axis) drawY(d *drawing, x, y, w, h float64) {
	free := math.Inf(1)
	for _, t := range a.ticks {
		py := y + h*(1-a.place(t.at))
		d.line(x, py, x+w, py, inkGrid, 1)
		if py > free {
			continue
		}
		free = py - lineHeight
		d.label(x-6, py+4, t.label, right, textSize, inkMuted)
	}
}

func (a axis) labelWidth() float64 {
	w := 0.0
	for _, t := range a.ticks {
		w = max(w, textWidth(t.label, textSize))
	}
	return w
}

// digits has three significant digits at most, without trailing zeros.
func digits(v float64) string {
	return strconv.FormatFloat(number(strconv.FormatFloat(v, 'g', 3, 64)), 'f', -1, 64)
}

// duration of so many µs.
func duration(us float64) string {
	switch {
	case us < 1:
		return digits(us*1e3) + " ns"
	case us < 1e3:
		return digits(us) + " µs"
	case us < 1e6:
		return digits(us/1e3) + " ms"
	}
	return digits(us/1e6) + " s"
}

// amount of operations per second, and the like.
func amount(v float64) string {
	switch {
	case v >= 999.5e6:
		return digits(v/1e9) + "G"
	case v >= 999.5e3:
		return digits(v/1e6) + "M"
	case v >= 999.5:
		return digits(v/1e3) + "k"
	}
	return digits(v)
}

// payload in binary units where those are whole.
func payload(v float64) string {
	for _, u := range []struct {
		n    float64
		name string
	}{{1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if v >= u.n && math.Mod(v, u.n) == 0 {
			return digits(v/u.n) + " " + u.name
		}
	}
	return amount(v) + " B"
}

// percentile is "p99.9".
func percentile(q float64) string {
	return "p" + strconv.FormatFloat(math.Round(q*1e8)/1e6, 'f', -1, 64)
}

// ends gives the smallest and the largest of the values above 0.
func ends(values []float64) (lo, hi float64, ok bool) {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !(v > 0) })
	if len(values) == 0 {
		return 0, 0, false
	}
	return slices.MinFunc(values, cmp.Compare[float64]), slices.MaxFunc(values, cmp.Compare[float64]), true
}

// interval is " (a – b)", or nothing.
func interval(lo, hi float64, f func(float64) string) string {
	if !(lo > 0) || !(hi > 0) {
		return ""
	}
	return fmt.Sprintf(" (%s – %s)", f(lo), f(hi))
}
