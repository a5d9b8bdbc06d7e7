package charts

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// scale is pixels a unit: sharp on a display of twice the density.
const scale = 2

func (d *drawing) png() ([]byte, error) {
	w := newPNG(d)
	for _, o := range d.ops {
		if err := w.op(o); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, w.img)
	return b.Bytes(), err
}

type pngWriter struct {
	img      *image.RGBA
	r        vector.Rasterizer
	polygons [][]pt // since the last ink, in pixels
}

func newPNG(d *drawing) *pngWriter {
	w, h := int(math.Ceil(d.w*scale)), int(math.Ceil(d.h*scale))
	p := &pngWriter{img: image.NewRGBA(image.Rect(0, 0, w, h))}
	draw.Draw(p.img, p.img.Bounds(), image.NewUniform(light[inkPaper].color()), image.Point{}, draw.Src)
	return p
}

func (w *pngWriter) op(o op) error {
	c := light[o.ink].color()
	if o.alpha != 0 {
		c.A = uint8(math.Round(o.alpha * 255))
	}
	switch o.kind {
	case opFill:
		w.polygon(o.pts)
		w.ink(c)
	case opPath:
		if o.dash {
			for _, part := range dashes(o.pts) {
				w.stroke(part, o.width)
			}
		} else {
			w.stroke(o.pts, o.width)
		}
		w.ink(c)
	case opMarks:
		for _, p := range o.pts {
			w.mark(p, o, c)
		}
	case opText:
		return w.text(o, c)
	}
	return nil
}

func (w *pngWriter) mark(p pt, o op, c color.NRGBA) {
	switch {
	case o.shape == cross:
		const r = radius * 0.8
		w.stroke([]pt{{p.x - r, p.y - r}, {p.x + r, p.y + r}}, 1.5)
		w.stroke([]pt{{p.x - r, p.y + r}, {p.x + r, p.y - r}}, 1.5)
	case o.hollow:
		outer := corners(p, o.shape)
		w.polygon(outer)
		w.ink(light[inkPaper].color())
		w.stroke(append(outer, outer[0], outer[1]), 1.5)
	default:
		w.polygon(corners(p, o.shape))
	}
	w.ink(c)
}

// ink paints the polygons since the last call. The rasterizer goes over all of its field, so that is made no larger than
// they are.
func (w *pngWriter) ink(c color.NRGBA) {
	lo, hi := pt{math.Inf(1), math.Inf(1)}, pt{math.Inf(-1), math.Inf(-1)}
	for _, poly := range w.polygons {
		for _, p := range poly {
			lo, hi = pt{min(lo.x, p.x), min(lo.y, p.y)}, pt{max(hi.x, p.x), max(hi.y, p.y)}
		}
	}
	if len(w.polygons) == 0 {
		return
	}
	field := image.Rect(int(math.Floor(lo.x)), int(math.Floor(lo.y)), int(math.Ceil(hi.x)), int(math.Ceil(hi.y)))
	w.r.Reset(field.Dx(), field.Dy())
	for _, poly := range w.polygons {
		for i, p := range poly {
			x, y := float32(p.x-float64(field.Min.X)), float32(p.y-float64(field.Min.Y))
			if i == 0 {
				w.r.MoveTo(x, y)
			} else {
				w.r.LineTo(x, y)
			}
		}
		w.r.ClosePath()
	}
	w.r.Draw(w.img, field, image.NewUniform(c), image.Point{})
	w.polygons = w.polygons[:0]
}

func (w *pngWriter) polygon(pts []pt) {
	scaled := make([]pt, len(pts))
	for i, p := range pts {
		scaled[i] = pt{p.x * scale, p.y * scale}
	}
	w.polygons = append(w.polygons, scaled)
}

// stroke outlines each segment, and each joint as a disc. All of them turn the same way round: the rasterizer adds up
// signed areas, and two that turn against each other would leave a hole.
func (w *pngWriter) stroke(pts []pt, width float64) {
	for i := 1; i < len(pts); i++ {
		a, b := pts[i-1], pts[i]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		if length == 0 {
			continue
		}
		nx, ny := -(b.y-a.y)/length*width/2, (b.x-a.x)/length*width/2
		w.polygon([]pt{{a.x - nx, a.y - ny}, {b.x - nx, b.y - ny}, {b.x + nx, b.y + ny}, {a.x + nx, a.y + ny}})
		if i > 1 {
			w.polygon(disc(a, width/2))
		}
	}
}

func disc(c pt, r float64) []pt {
	pts := make([]pt, 12)
	for i := range pts {
		sin, cos := math.Sincos(float64(i) / 12 * 2 * math.Pi)
		pts[i] = pt{c.x + r*cos, c.y + r*sin}
	}
	return pts
}

// dashes cuts a path into the parts that are drawn.
func dashes(pts []pt) (parts [][]pt) {
	on, rest := true, dashOn
	var part []pt
	for i := 1; i < len(pts); i++ {
		a, b := pts[i-1], pts[i]
		if on && part == nil {
			part = []pt{a}
		}
		for {
			length := math.Hypot(b.x-a.x, b.y-a.y)
			if length <= rest {
				rest -= length
				if on {
					part = append(part, b)
				}
				break
			}
			a = pt{a.x + (b.x-a.x)*rest/length, a.y + (b.y-a.y)*rest/length}
			if on {
				parts, part, rest = append(parts, append(part, a)), nil, dashOff
			} else {
				part, rest = []pt{a}, dashOn
			}
			on = !on
		}
	}
	if len(part) > 1 {
		parts = append(parts, part)
	}
	return parts
}

// fonts are parsed when the first PNG is made, not when a process starts.
var fonts = sync.OnceValues(func() (f struct{ regular, bold *opentype.Font }, err error) {
	if f.regular, err = opentype.Parse(goregular.TTF); err == nil {
		f.bold, err = opentype.Parse(gobold.TTF)
	}
	return f, err
})

func (w *pngWriter) text(o op, c color.NRGBA) error {
	f, err := fonts()
	if err != nil {
		return err
	}
	face := f.regular
	if o.bold {
		face = f.bold
	}
	sized, err := opentype.NewFace(face, &opentype.FaceOptions{Size: o.size * scale, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return err
	}
	defer sized.Close()
	dr := font.Drawer{Dst: w.img, Src: image.NewUniform(c), Face: sized}
	x := fixed.Int26_6(math.Round(o.pts[0].x * scale * 64))
	switch advance := dr.MeasureString(o.text); o.anchor {
	case middle:
		x -= advance / 2
	case right:
		x -= advance
	}
	dr.Dot = fixed.Point26_6{X: x, Y: fixed.Int26_6(math.Round(o.pts[0].y * scale * 64))}
	dr.DrawString(o.text)
	return nil
}
