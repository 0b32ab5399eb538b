package theme

import (
	"image/color"
	"math"
	"strconv"
)

// Map is a colour map of pictures.
type Map uint8

// The colour maps.
const (
	Greys     Map = iota // black to white
	Viridis              // dark violet over green to yellow, rising in brightness
	Diverging            // blue below zero, dark at zero, orange above
	NumMaps
)

// maps are indexes of the 256-colour palette, from the lowest level to the
// highest: the ramp of greys, and the colours nearest to viridis' and to a
// diverging map's whose brightness rises. Few levels change less often.
var maps = [NumMaps][]uint8{
	Greys: {232, 233, 234, 235, 236, 237, 238, 239, 240, 241, 242, 243,
		244, 245, 246, 247, 248, 249, 250, 251, 252, 253, 254, 255},
	Viridis:   {53, 54, 24, 30, 36, 71, 77, 148, 184, 226},
	Diverging: {117, 75, 32, 25, 17, 234, 52, 94, 172, 214, 222},
}

// anchors are the colours of the maps for pictures that are not bound to the
// palette, evenly spaced.
var anchors = [NumMaps][]color.NRGBA{
	Greys: {{0, 0, 0, 255}, {255, 255, 255, 255}},
	Viridis: {{68, 1, 84, 255}, {72, 36, 117, 255}, {65, 68, 135, 255}, {53, 95, 141, 255}, {42, 120, 142, 255},
		{33, 145, 140, 255}, {34, 168, 132, 255}, {68, 191, 112, 255}, {122, 209, 81, 255}, {189, 223, 38, 255}, {253, 231, 37, 255}},
	Diverging: {{135, 215, 255, 255}, {0, 114, 178, 255}, {24, 24, 24, 255}, {213, 94, 0, 255}, {255, 215, 135, 255}},
}

// Levels is how many colours the map has on a terminal of 256.
func (m Map) Levels() int { return len(maps[m]) }

// Color is the map's colour for v, 0 to 1, where a picture may have any.
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

// The bits of styles that are not named: shadeStyle, four bits of map and twice
// five bits of level; or imageStyle and eight bits of id.
const (
	shadeStyle Style = 1 << 15
	imageStyle Style = 1 << 14
)

// Shade is the style of a half block whose upper pixel has level upper and whose
// lower pixel has level lower, both 0 to Levels−1.
func Shade(m Map, upper, lower int) Style {
	clamp := func(v int) Style { return Style(min(max(v, 0), m.Levels()-1)) }
	return shadeStyle | Style(m)<<10 | clamp(upper)<<5 | clamp(lower)
}

// Shades returns what Shade was given; ok is false for other styles.
func (s Style) Shades() (m Map, upper, lower int, ok bool) {
	m = Map(s>>10) & 15
	return m, int(s>>5) & 31, int(s) & 31, s&shadeStyle != 0 && m < NumMaps
}

// Image is the style of a place where the terminal draws picture id, 16 to 255:
// Kitty's placeholders name it by their colour.
func Image(id int) Style { return imageStyle | Style(id&255) }

// Image returns what the function Image was given; ok is false for other styles.
func (s Style) Image() (id int, ok bool) {
	return int(s & 255), s&(imageStyle|shadeStyle) == imageStyle
}

// shades are the sequences of a map's pairs. A pair of equals is a space and
// needs a background only.
func shades(m Map) []string {
	index := maps[m]
	all := make([]string, 0, len(index)*len(index))
	for _, upper := range index {
		for _, lower := range index {
			below := "48;5;" + strconv.Itoa(int(lower)) + "m"
			if upper == lower {
				all = append(all, "\x1b["+below)
				continue
			}
			all = append(all, "\x1b[38;5;"+strconv.Itoa(int(upper))+";"+below)
		}
	}
	return all
}
