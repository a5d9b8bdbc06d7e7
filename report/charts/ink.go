package charts

import (
	"fmt"
	"image/color"
)

// rgb is a colour as 0xRRGGBB.
type rgb uint32

// Two of these seldom meet for people who see fewer colours (after Okabe and Ito), and shapes tell them apart besides.
var (
	light = palette{0x1f2328, 0x59636e, 0xd8dee4, 0xffffff, 0x0969da,
		0x0072b2, 0xd55e00, 0x008a65, 0xb0508f, 0xb88300, 0x3a9bdc, 0x7a52c7, 0x7d5a3c}
	dark = palette{0xe6edf3, 0x9198a1, 0x3d444d, 0x0d1117, 0x4493f8,
		0x4fa3e0, 0xff8a45, 0x2fc497, 0xe58fc4, 0xe6b23c, 0x8fcdf7, 0xb596f5, 0xc79f7c}
)

type palette [inkSeries + seriesInks]rgb

func (c rgb) String() string { return fmt.Sprintf("#%06x", uint32(c)) }

func (c rgb) color() color.NRGBA { return color.NRGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 255} }

var inkNames = [inkSeries]string{"text", "muted", "grid", "paper", "heat"}

func (i ink) String() string {
	if i < inkSeries {
		return inkNames[i]
	}
	return fmt.Sprintf("c%d", i-inkSeries)
}

// CSS gives the colours of charts within a page: variables for light and dark, and the classes that use them.
func CSS() string {
	vars := func(p palette) string {
		s := ""
		for i, c := range p {
			s += fmt.Sprintf("--%v:%v;", ink(i), c)
		}
		return s
	}
	s := ":root{" + vars(light) + "}\n@media(prefers-color-scheme:dark){:root{" + vars(dark) + "}}\n"
	for i := range light {
		s += fmt.Sprintf(".f-%[1]v{fill:var(--%[1]v)}.s-%[1]v{stroke:var(--%[1]v)}\n", ink(i))
	}
	return s
}
