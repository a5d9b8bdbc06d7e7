// Package charts draws rows: what the data shows, as SVG, as PNG and as SVG within a page. The same rows give the same
// bytes.
//
// A chart is a list of strokes (drawing) that each format writes in its own way, so that all three show the same thing.
// gonum/plot was tried first: it can't draw with the colours of a page in the dark, and it costs each worker process,
// which is this very binary, about 1 ms at start and 7 MB.
package charts

import (
	"strings"
	"unicode/utf8"
)

// ink is a colour by its meaning; each format knows its own.
type ink int

const (
	inkText ink = iota
	inkMuted
	inkGrid
	inkPaper // the background
	inkHeat
	inkSeries // inkSeries+n: the n-th of seriesInks
)

const seriesInks = 8

// shapes of marks, in the order in which series get them.
type shape int

const (
	circle shape = iota
	square
	diamond
	triangle
	cross
	shapes = cross // those that series get
)

type pt struct{ x, y float64 }

type opKind int

const (
	opFill opKind = iota
	opPath
	opMarks
	opText
	opBegin // of a group with a tooltip, in text
	opEnd
)

// op is one stroke. Units are those of the drawing, which a page shows as CSS pixels.
type op struct {
	kind   opKind
	pts    []pt
	ink    ink
	alpha  float64 // 0 counts as 1
	width  float64
	dash   bool
	shape  shape
	hollow bool
	text   string
	anchor anchor
	size   float64
	bold   bool
}

type anchor int

const (
	left anchor = iota
	middle
	right
)

type drawing struct {
	w, h float64
	ops  []op
}

func (d *drawing) fill(x, y, w, h float64, i ink, alpha float64) {
	d.ops = append(d.ops, op{kind: opFill, ink: i, alpha: alpha, pts: []pt{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}})
}

func (d *drawing) line(x1, y1, x2, y2 float64, i ink, width float64) {
	d.path([]pt{{x1, y1}, {x2, y2}}, i, width, false)
}

func (d *drawing) path(pts []pt, i ink, width float64, dash bool) {
	d.ops = append(d.ops, op{kind: opPath, pts: pts, ink: i, width: width, dash: dash})
}

func (d *drawing) marks(pts []pt, i ink, s shape, hollow bool) {
	if len(pts) > 0 {
		d.ops = append(d.ops, op{kind: opMarks, pts: pts, ink: i, shape: s, hollow: hollow})
	}
}

func (d *drawing) label(x, y float64, s string, a anchor, size float64, i ink) {
	d.ops = append(d.ops, op{kind: opText, pts: []pt{{x, y}}, text: s, anchor: a, size: size, ink: i})
}

// tip groups what draw draws, with a text that a page shows under the pointer.
func (d *drawing) tip(text string, draw func()) {
	d.ops = append(d.ops, op{kind: opBegin, text: text})
	draw()
	d.ops = append(d.ops, op{kind: opEnd})
}

// heading writes title and note and returns where the chart may begin.
func (d *drawing) heading(title, note string) float64 {
	d.ops = append(d.ops, op{kind: opText, pts: []pt{{edge, 20}}, text: cut(title, d.w-2*edge, titleSize), size: titleSize,
		bold: true, ink: inkText})
	y := 37.0
	for _, l := range wrap(note, d.w-2*edge, textSize) {
		d.label(edge, y, l, left, textSize, inkMuted)
		y += lineHeight
	}
	return y - 4
}

const (
	width      = 480.0 // small enough for its text to be read on a phone
	edge       = 8.0
	textSize   = 12.0
	titleSize  = 14.0
	lineHeight = 16.0
)

// textWidth is an estimate that errs to the wide side: a page sets the text in a font of its own.
func textWidth(s string, size float64) float64 {
	return float64(utf8.RuneCountInString(s)) * size * 0.56
}

// cut shortens s to a width.
func cut(s string, w, size float64) string {
	r := []rune(s)
	for len(r) > 1 && textWidth(string(r)+"…", size) > w {
		r = r[:len(r)-1]
	}
	if len(r) == utf8.RuneCountInString(s) || textWidth(s, size) <= w {
		return s
	}
	return strings.TrimRight(string(r), " ") + "…"
}

// wrap breaks s at spaces.
func wrap(s string, w, size float64) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines); n > 0 && textWidth(lines[n-1]+" "+word, size) <= w {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, cut(word, w, size))
		}
	}
	return lines
}
