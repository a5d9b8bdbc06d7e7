package charts

// bars draws one value a row, with its interval.
type bars struct {
	title, note string
	rows        []series // with one point each, x unused
	label       func(float64) string
}

// maxBars is how many rows a chart holds.
const maxBars = 30

// wide is the ratio from which on short bars would not be seen: then the values stand as marks on a log axis.
const wide = 25

func (b bars) draw() *drawing {
	list := b.rows
	note := b.note
	if more := len(list) - maxBars; more > 0 {
		list = list[:maxBars]
		note += " · " + amount(float64(more)) + " more in the table"
	}
	var values []float64
	names, numbers := 0.0, 0.0
	for _, s := range list {
		values = append(values, s.pts[0].y, s.pts[0].lo, s.pts[0].hi)
		names = max(names, textWidth(s.name, textSize))
		numbers = max(numbers, textWidth(b.label(s.pts[0].y), textSize))
	}
	lo, hi, _ := ends(values)
	a := linearAxis(hi, b.label)
	log := hi/lo > wide
	if log {
		a = logAxis(lo, hi, b.label)
		note += " · log axis"
	}
	d := &drawing{w: width}
	top := d.heading(b.title, note) + 8
	const row = 22
	names = min(names, d.w*0.4)
	x0 := edge + names + 8
	w, h := d.w-x0-numbers-edge-10, row*float64(len(list))
	a.drawX(d, x0, top, w, h)
	for i, s := range list {
		p, y := s.pts[0], top+row*(float64(i)+0.5)
		d.tip(s.name+": "+b.label(p.y)+interval(p.lo, p.hi, b.label), func() {
			d.label(edge, y+4, cut(s.name, names, textSize), left, textSize, inkText)
			x := x0 + w*a.place(p.y)
			if !log {
				alpha := 0.85
				if s.unstable {
					alpha = 0.35
				}
				d.fill(x0, y-6, x-x0, 12, s.ink(), alpha)
			}
			if p.lo > 0 && p.hi >= p.lo {
				whisker(d, x0+w*a.place(p.lo), x0+w*a.place(p.hi), y)
			}
			if log {
				d.marks([]pt{{x, y}}, s.ink(), s.shape(), s.unstable)
			}
			d.label(d.w-edge, y+4, b.label(p.y), right, textSize, inkText)
		})
	}
	d.h = top + h + 24
	return d
}

func whisker(d *drawing, a, b, y float64) {
	d.line(a, y, b, y, inkText, 1.25)
	d.line(a, y-3, a, y+3, inkText, 1.25)
	d.line(b, y-3, b, y+3, inkText, 1.25)
}
