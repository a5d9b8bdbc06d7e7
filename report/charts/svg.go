package charts

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// svg writes the drawing. Within a page colours are classes, so that they follow the page into the dark, and there is
// no background; a file has fixed colours on white, since nobody knows where it will be shown.
func (d *drawing) svg(page bool, name string) string {
	w := svgWriter{page: page}
	w.b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ` + num(d.w) + " " + num(d.h) + `" `)
	if !page {
		w.b.WriteString(`width="` + num(d.w) + `" height="` + num(d.h) + `" `)
	}
	w.b.WriteString(`font-family="system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif" role="img" aria-label="` +
		escape(name) + "\">\n")
	if !page {
		w.b.WriteString(`<rect width="100%" height="100%" fill="` + light[inkPaper].String() + "\"/>\n")
	}
	for _, o := range d.ops {
		w.op(o)
	}
	w.b.WriteString("</svg>\n")
	return w.b.String()
}

type svgWriter struct {
	b    strings.Builder
	page bool
}

func (w *svgWriter) op(o op) {
	switch o.kind {
	case opFill:
		w.b.WriteString(`<path d="` + outline(o.pts) + `Z"` + w.paint(o.ink, true))
		if o.alpha != 0 && o.alpha != 1 {
			w.b.WriteString(` fill-opacity="` + num(o.alpha) + `"`)
		}
		w.b.WriteString("/>\n")
	case opPath:
		w.b.WriteString(`<path d="` + outline(o.pts) + `"` + w.paint(o.ink, false) + ` stroke-width="` + num(o.width) + `"`)
		if len(o.pts) > 2 {
			w.b.WriteString(` stroke-linejoin="round"`)
		}
		if o.dash {
			w.b.WriteString(` stroke-dasharray="` + num(dashOn) + " " + num(dashOff) + `"`)
		}
		w.b.WriteString("/>\n")
	case opMarks:
		w.b.WriteString(`<path d="`)
		for _, p := range o.pts {
			w.b.WriteString(mark(p, o.shape))
		}
		w.b.WriteString(`"`)
		switch {
		case o.shape == cross:
			w.b.WriteString(w.paint(o.ink, false) + ` stroke-width="1.5"`)
		case o.hollow:
			w.b.WriteString(w.paint(inkPaper, true) + w.stroke(o.ink) + ` stroke-width="1.5"`)
		default:
			w.b.WriteString(w.paint(o.ink, true))
		}
		w.b.WriteString("/>\n")
	case opText:
		w.b.WriteString(`<text x="` + num(o.pts[0].x) + `" y="` + num(o.pts[0].y) + `" font-size="` + num(o.size) + `"` + w.paint(o.ink, true))
		if o.anchor != left {
			w.b.WriteString(` text-anchor="` + [...]string{"start", "middle", "end"}[o.anchor] + `"`)
		}
		if o.bold {
			w.b.WriteString(` font-weight="600"`)
		}
		w.b.WriteString(">" + escape(o.text) + "</text>\n")
	case opBegin:
		w.b.WriteString("<g><title>" + escape(o.text) + "</title>\n")
	case opEnd:
		w.b.WriteString("</g>\n")
	}
}

// paint fills, or strokes what is not filled.
func (w *svgWriter) paint(i ink, fill bool) string {
	switch {
	case w.page && fill:
		return fmt.Sprintf(` class="f-%v"`, i)
	case w.page:
		return fmt.Sprintf(` fill="none" class="s-%v"`, i)
	case fill:
		return fmt.Sprintf(` fill="%v"`, light[i])
	}
	return fmt.Sprintf(` fill="none" stroke="%v"`, light[i])
}

// stroke is the stroke of what paint has filled.
func (w *svgWriter) stroke(i ink) string {
	if w.page {
		return fmt.Sprintf(` stroke="var(--%v)"`, i)
	}
	return fmt.Sprintf(` stroke="%v"`, light[i])
}

func outline(pts []pt) string {
	var b strings.Builder
	for n, p := range pts {
		b.WriteString(string("ML"[min(n, 1)]) + num(p.x) + " " + num(p.y))
	}
	return b.String()
}

// mark is the outline of one mark.
func mark(p pt, s shape) string {
	switch s {
	case circle:
		return fmt.Sprintf("M%s %sa%[3]s %[3]s 0 1 0 %[4]s 0a%[3]s %[3]s 0 1 0 -%[4]s 0Z", num(p.x-radius), num(p.y), num(radius), num(2*radius))
	case cross:
		const r = radius * 0.8
		return outline([]pt{{p.x - r, p.y - r}, {p.x + r, p.y + r}}) + outline([]pt{{p.x - r, p.y + r}, {p.x + r, p.y - r}})
	}
	return outline(corners(p, s)) + "Z"
}

// radius of a mark; corners are those of the shapes that have some.
const radius = 3.5

func corners(p pt, s shape) []pt {
	const r = radius
	switch s {
	case square:
		return []pt{{p.x - r + .4, p.y - r + .4}, {p.x + r - .4, p.y - r + .4}, {p.x + r - .4, p.y + r - .4}, {p.x - r + .4, p.y + r - .4}}
	case diamond:
		return []pt{{p.x, p.y - r - 1}, {p.x + r + 1, p.y}, {p.x, p.y + r + 1}, {p.x - r - 1, p.y}}
	case triangle:
		return []pt{{p.x, p.y - r - .8}, {p.x + r + .8, p.y + r}, {p.x - r - .8, p.y + r}}
	}
	var c []pt
	for i := range 24 {
		sin, cos := math.Sincos(float64(i) / 24 * 2 * math.Pi)
		c = append(c, pt{p.x + r*cos, p.y + r*sin})
	}
	return c
}

const dashOn, dashOff = 5.0, 4.0

// num has two decimals at most: finer differs between machines, coarser shows.
func num(v float64) string {
	v = math.Round(v*100)/100 + 0
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// escape makes text safe as content and as an attribute, and drops what XML can't hold or what turns the direction of
// writing.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\ufffe' || r == '\uffff' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return markup.Replace(s)
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")
