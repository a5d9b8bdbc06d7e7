package charts

import (
	"fmt"
	"strings"
)

// series is one line of a chart.
type series struct {
	name     string
	style    int  // the same in all charts of a document
	unstable bool // dashed and hollow, where its values are
	pts      []sample
}

// sample is one value of a series; lo and hi are its interval, or 0.
type sample struct {
	x, y, lo, hi float64
	unstable     bool
}

func (s series) ink() ink { return inkSeries + ink(s.style%seriesInks) }

func (s series) shape() shape { return shape(s.style/seriesInks) % shapes }

// maxSeries is how many lines can still be told apart.
const maxSeries = 12

// lines draws values over x, on a log axis.
type lines struct {
	title, note    string
	xName          string
	series         []series
	x              axis
	xLabel, yLabel func(float64) string
}

func (l lines) draw() *drawing {
	list := l.series
	note := l.note
	if more := len(list) - maxSeries; more > 0 {
		list = list[:maxSeries]
		note += fmt.Sprintf(" · %d more in the table", more)
	}
	var values []float64
	for _, s := range list {
		for _, p := range s.pts {
			values = append(values, p.y, p.lo, p.hi)
		}
	}
	lo, hi, _ := ends(values)
	y := logAxis(lo, hi, l.yLabel)

	d := &drawing{w: width}
	top := d.heading(l.title, note) + 8
	x0 := edge + y.labelWidth() + 6
	w, h := d.w-x0-edge-10, 190.0
	y.drawY(d, x0, top, w, h)
	l.x.drawX(d, x0, top, w, h)
	d.line(x0, top+h, x0+w, top+h, inkMuted, 1)
	d.label(x0+w, top+h+31, l.xName, right, textSize, inkMuted)

	at := func(x, v float64) pt { return pt{x0 + w*l.x.place(x), top + h*(1-y.place(v))} }
	// The best lies on top.
	for i := len(list) - 1; i >= 0; i-- {
		l.drawSeries(d, list[i], at)
	}
	d.h = legend(d, list, top+h+40)
	return d
}

func (l lines) drawSeries(d *drawing, s series, at func(x, v float64) pt) {
	tip := []string{s.name}
	var pts []pt
	var marks [2][]pt // filled and hollow ones
	for _, p := range s.pts {
		pts = append(pts, at(p.x, p.y))
		kind, mark := 0, ""
		if p.unstable {
			kind, mark = 1, "~ "
		}
		marks[kind] = append(marks[kind], at(p.x, p.y))
		tip = append(tip, l.xLabel(p.x)+": "+mark+l.yLabel(p.y)+interval(p.lo, p.hi, l.yLabel))
	}
	d.tip(strings.Join(tip, "; "), func() {
		for _, p := range s.pts {
			if p.lo > 0 && p.hi > p.lo {
				a, b := at(p.x, p.lo), at(p.x, p.hi)
				d.line(a.x, a.y, b.x, b.y, s.ink(), 1)
			}
		}
		if len(marks[0]) == 0 || len(marks[1]) == 0 {
			if len(pts) > 1 {
				d.path(pts, s.ink(), 2, s.unstable)
			}
		} else { // dashed at either side of what is unstable
			for i := range len(pts) - 1 {
				d.path(pts[i:i+2], s.ink(), 2, s.pts[i].unstable || s.pts[i+1].unstable)
			}
		}
		for kind, list := range marks {
			if len(list) > 0 {
				d.marks(list, s.ink(), s.shape(), kind == 1)
			}
		}
	})
}

// legend names the series in as many columns as fit, and returns where it ends.
func legend(d *drawing, list []series, y float64) float64 {
	const swatch = 26
	longest := 0.0
	for _, s := range list {
		longest = max(longest, textWidth(s.name, textSize))
	}
	columns := max(1, min(3, int((d.w-2*edge)/(longest+swatch+12))))
	w := (d.w - 2*edge) / float64(columns)
	for i, s := range list {
		x, yy := edge+w*float64(i%columns), y+lineHeight*float64(i/columns)+10
		d.path([]pt{{x, yy - 4}, {x + 20, yy - 4}}, s.ink(), 2, s.unstable)
		d.marks([]pt{{x + 10, yy - 4}}, s.ink(), s.shape(), s.unstable)
		d.label(x+swatch, yy, cut(s.name, w-swatch-6, textSize), left, textSize, inkText)
	}
	rows := (len(list) + columns - 1) / columns
	return y + lineHeight*float64(rows) + edge
}
