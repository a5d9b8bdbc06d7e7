package charts

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"msgbench/stability"
)

// strips draws the samples of each cell in the order in which they were measured, each in a lane of its own, as ratios to
// the median of its core.
type strips struct {
	title, note string
	lanes       []lane
}

type lane struct {
	series
	stability.Strip
}

const maxLanes = 16

func (s strips) draw() *drawing {
	list := s.lanes
	note := s.note
	if more := len(list) - maxLanes; more > 0 {
		list = list[:maxLanes]
		note += fmt.Sprintf(" · %d more in the table", more)
	}
	note += " · filled, in a band: the stable core; hollow: outside it; ×: not used"
	names, first, last, far := 0.0, math.MaxInt, 0, math.Log(1.2)
	for _, l := range list {
		names = max(names, textWidth(l.name, textSize))
		m := l.middle()
		for _, p := range l.Points {
			first, last = min(first, p.Order), max(last, p.Order)
			if p.Value > 0 {
				far = max(far, math.Abs(math.Log(p.Value/m)))
			}
		}
	}
	far = min(far, math.Log(4)) * 1.1
	d := &drawing{w: width}
	top := d.heading(s.title, note) + 8
	names = min(names, d.w*0.36)
	const row = 38.0
	numbers := textWidth("999 µs", textSize)
	x0 := edge + names + 12
	w := d.w - x0 - numbers - edge - 10
	for i, l := range list {
		y, m := top+row*(float64(i)+0.5), l.middle()
		at := func(p stability.Point) pt {
			ratio := -1.0
			if p.Value > 0 {
				ratio = min(max(math.Log(p.Value/m)/far, -1), 1)
			}
			x := 0.5
			if last > first {
				x = float64(p.Order-first) / float64(last-first)
			}
			return pt{x0 + w*x, y - ratio*(row/2-3)}
		}
		l.draw(d, x0, y, w, names, at)
		d.line(edge, y+row/2, d.w-edge, y+row/2, inkGrid, 1)
	}
	d.h = top + row*float64(len(list)) + 24
	d.label(x0, d.h-9, "first sample of the run", left, textSize, inkMuted)
	d.label(x0+w, d.h-9, "last", right, textSize, inkMuted)
	return d
}

// middle is the median of the core; of all where there is none.
func (l lane) middle() float64 {
	var core, all []float64
	for _, p := range l.Points {
		all = append(all, p.Value)
		if p.Core {
			core = append(core, p.Value)
		}
	}
	if len(core) == 0 {
		core = all
	}
	slices.Sort(core)
	return core[len(core)/2]
}

func byHeight(a, b pt) int { return cmp.Compare(a.y, b.y) }

// draw shows the core as a band and filled marks, other samples of the row hollow, and those beside the row as crosses.
func (l lane) draw(d *drawing, x0, y, w, names float64, at func(stability.Point) pt) {
	label := amount
	if l.Metric == "p50" {
		label = duration
	}
	var core, out, aside []pt
	tip := l.name + ":"
	for _, p := range l.Points {
		tip += " " + label(p.Value)
		switch {
		case p.Core:
			core = append(core, at(p))
		case p.Aside:
			aside = append(aside, at(p))
			tip += " (not used)"
		default:
			out = append(out, at(p))
			tip += " (outside the core)"
		}
	}
	d.tip(tip, func() {
		d.label(edge, y+4, cut(l.name, names, textSize), left, textSize, inkText)
		d.label(d.w-edge, y+4, label(l.middle()), right, textSize, inkText)
		if len(core) > 0 {
			high := slices.MinFunc(core, byHeight).y
			low := slices.MaxFunc(core, byHeight).y
			d.fill(x0-6, high-2, w+12, low-high+4, l.ink(), 0.15)
		}
		d.marks(aside, inkMuted, cross, false)
		d.marks(out, l.ink(), circle, true)
		d.marks(core, l.ink(), circle, false)
	})
}
