package figure

import (
	"fmt"
	"image/color"
	"strings"
)

// Palette gives paints their colours. Those of curves and areas can be told apart by colour-blind
// readers; neighbouring areas differ in lightness too.
type Palette struct {
	paper, ink, muted, grid, mark, band uint32
	curves, areas                       [curves]uint32
}

// The palettes: Light is that of files and paper.
var (
	Light = Palette{
		paper: 0xffffff, ink: 0x1a1a1a, muted: 0x5c5c5c, grid: 0xdddddd, mark: 0x707070, band: 0xbfd7ea,
		curves: [curves]uint32{0x0072b2, 0xb34a00, 0x00735a, 0xa03070, 0x444444, 0x7a5c00, 0x2f6fd0, 0x8a0000},
		areas:  [curves]uint32{0x0072b2, 0x9ad1f0, 0xd55e00, 0xf5e663, 0x009e73, 0xf0b84a, 0xa0527f, 0xd9d9d9},
	}
	Dark = Palette{
		paper: 0x15181c, ink: 0xe6e6e6, muted: 0xa6abb3, grid: 0x343a42, mark: 0x8c929b, band: 0x27465e,
		curves: [curves]uint32{0x6cbcf0, 0xf0a060, 0x4fd0a8, 0xe79bc6, 0xc8c8c8, 0xe0c050, 0x9db8ff, 0xff8a80},
		areas:  [curves]uint32{0x2a7fb8, 0xa5d8f5, 0xc85a10, 0xe8dc70, 0x17916f, 0xe0ac48, 0xa0527f, 0xc4c4c4},
	}
)

// value returns the colour of a paint as 0xrrggbb.
func (p *Palette) value(of Paint) uint32 {
	switch {
	case of >= Area:
		return p.areas[of-Area]
	case of >= Curve:
		return p.curves[of-Curve]
	}
	return [...]uint32{0, p.paper, p.ink, p.muted, p.grid, p.mark, p.band}[of]
}

func (p *Palette) hex(of Paint) string { return fmt.Sprintf("#%06x", p.value(of)) }

func (p *Palette) rgba(of Paint) color.RGBA {
	v := p.value(of)
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// Variables returns the colours as the declarations of CSS variables, --NAME.
func (p *Palette) Variables() string {
	var b strings.Builder
	for of := Paper; of < Area+curves; of++ {
		fmt.Fprintf(&b, "--%s:%s;", of.class(), p.hex(of))
	}
	return b.String()
}

// Classes returns the rules of CSS by which the classes of drawings in a page take their colours from
// variables.
func Classes() string {
	var b strings.Builder
	for of := Paper; of < Area+curves; of++ {
		fmt.Fprintf(&b, ".fill-%[1]s{fill:var(--%[1]s)}.stroke-%[1]s{stroke:var(--%[1]s)}", of.class())
	}
	return b.String()
}
