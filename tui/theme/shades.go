package theme

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
)

// Map is a colour map for pictures.
type Map uint8

// The colour maps.
const (
	Greys     Map = iota // black to white
	Viridis              // dark violet over green to yellow, rising in brightness
	Diverging            // blue below zero, dark at zero, orange above
	NumMaps
)

// palettes are indexes into the 256-colour palette, from the lowest level to the highest: the
// grey ramp, and the colours closest to viridis and to a diverging map of increasing brightness.
// With few levels, pixels change less often.
var palettes = [NumMaps][]uint8{
	Greys: {232, 233, 234, 235, 236, 237, 238, 239, 240, 241, 242, 243,
		244, 245, 246, 247, 248, 249, 250, 251, 252, 253, 254, 255},
	Viridis:   {53, 54, 24, 30, 36, 71, 77, 148, 184, 226},
	Diverging: {117, 75, 32, 25, 17, 234, 52, 94, 172, 214, 222},
}

// fine is the number of levels of the maps in 24-bit colour. The diverging map has a middle
// level, which is zero.
var fine = [NumMaps]int{Greys: 64, Viridis: 64, Diverging: 63}

// anchors are evenly spaced colours of the maps, for pictures not limited to the palette.
var anchors = [NumMaps][]color.NRGBA{
	Greys: {{0, 0, 0, 255}, {255, 255, 255, 255}},
	Viridis: {{68, 1, 84, 255}, {72, 36, 117, 255}, {65, 68, 135, 255}, {53, 95, 141, 255}, {42, 120, 142, 255},
		{33, 145, 140, 255}, {34, 168, 132, 255}, {68, 191, 112, 255}, {122, 209, 81, 255}, {189, 223, 38, 255},
		{253, 231, 37, 255}},
	Diverging: {{135, 215, 255, 255}, {0, 114, 178, 255}, {24, 24, 24, 255}, {213, 94, 0, 255}, {255, 215, 135, 255}},
}

// Levels returns the number of colours of the map on a terminal of depth d. Depths below 256
// colours use those of 256.
func (m Map) Levels(d Depth) int {
	if d >= TrueColor {
		return fine[m]
	}
	return len(palettes[m])
}

// Color returns the map's colour for v, 0 to 1, without limiting it to a palette.
func (m Map) Color(v float64) color.NRGBA {
	a := anchors[m]
	if !(v > 0) {
		return a[0]
	}
	at := min(v, 1) * float64(len(a)-1)
	i := min(int(at), len(a)-2)
	f := at - float64(i)
	mix := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + f*(float64(y)-float64(x)))) }
	return color.NRGBA{mix(a[i].R, a[i+1].R), mix(a[i].G, a[i+1].G), mix(a[i].B, a[i+1].B), 255}
}

// The bits of unnamed styles: shadeStyle, whether the palette limits it, two bits of map and
// twice six bits of level; or imageStyle and eight bits of id.
const (
	shadeStyle  Style = 1 << 15
	imageStyle  Style = 1 << 14
	coarseShade Style = 1 << 14
	mapShift          = 12
	levelBits         = 6
	topLevel          = 1<<levelBits - 1
)

// Shade returns the style of a half block whose upper and lower pixels have the levels upper and
// lower, 0 to Levels−1.
func Shade(m Map, upper, lower int) Style {
	clamp := func(v int) Style { return Style(min(max(v, 0), topLevel)) }
	return shadeStyle | Style(m)<<mapShift | clamp(upper)<<levelBits | clamp(lower)
}

// Coarse returns a shade whose levels are those of the palette even on a terminal with 24-bit colour.
func (s Style) Coarse() Style { return s | coarseShade }

// Shades returns the arguments of Shade; ok is false for other styles.
func (s Style) Shades() (m Map, upper, lower int, ok bool) {
	m = Map(s>>mapShift) & 3
	return m, int(s>>levelBits) & topLevel, int(s) & topLevel, s&shadeStyle != 0 && m < NumMaps
}

// Image returns the style of a placeholder of picture id, 16 to 255: Kitty's placeholders encode
// the id as their colour.
func Image(id int) Style { return imageStyle | Style(id&255) }

// Image returns the argument of the function Image; ok is false for other styles.
func (s Style) Image() (id int, ok bool) {
	return int(s & 255), s&(imageStyle|shadeStyle) == imageStyle
}

// ink is a colour as SGR parameters.
type ink struct{ fore, back string }

func inkOf(colour string) ink { return ink{"38;" + colour, "48;" + colour} }

// ink returns a level's colour. Levels above the highest are clamped.
func (m Map) ink(d Depth, level int) ink {
	level = min(level, m.Levels(d)-1)
	if d >= TrueColor {
		return mixed[m][level]
	}
	return indexed[palettes[m][level]]
}

// InkBytes returns the length of a level's colour parameters: 8 for "38;5;240".
func (m Map) InkBytes(d Depth, level int) int { return len(m.ink(d, level).fore) }

// indexed holds the palette's colours.
var indexed = func() (inks [256]ink) {
	for i := range inks {
		inks[i] = inkOf("5;" + strconv.Itoa(i))
	}
	return inks
}()

// mixed holds the maps' 24-bit colours.
var mixed = func() (inks [NumMaps][]ink) {
	for m := range NumMaps {
		for level := range fine[m] {
			c := m.Color(float64(level) / float64(fine[m]-1))
			inks[m] = append(inks[m], inkOf(fmt.Sprintf("2;%d;%d;%d", c.R, c.G, c.B)))
		}
	}
	return inks
}()
