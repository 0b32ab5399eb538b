package figure

import (
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// fonts are those of PNGs, by which the texts of SVGs are measured, too.
var fonts = sync.OnceValue(func() (f struct{ regular, bold *opentype.Font }) {
	for to, data := range map[**opentype.Font][]byte{&f.regular: goregular.TTF, &f.bold: gobold.TTF} {
		parsed, err := opentype.Parse(data)
		if err != nil {
			panic(err) // they are compiled in
		}
		*to = parsed
	}
	return f
})

// wider is by how much a reader's sans serif font may be wider than that of PNGs.
const wider = 1.12

// textWidth returns the width of a text in pixels, at most, in any common font.
func textWidth(s string, size float64) float64 {
	var buffer sfnt.Buffer
	f, width := fonts().bold, 0.0
	for _, r := range s {
		width += advance(f, &buffer, r, size)
	}
	return width * wider
}

// advance returns the width of a character in pixels.
func advance(f *opentype.Font, buffer *sfnt.Buffer, r rune, size float64) float64 {
	i, err := f.GlyphIndex(buffer, r)
	if err == nil && i != 0 {
		if a, err := f.GlyphAdvance(buffer, i, fixed.I(int(f.UnitsPerEm())), font.HintingNone); err == nil {
			return float64(a) / 64 / float64(f.UnitsPerEm()) * size
		}
	}
	return size // of another font: ideographs are square
}

// fit shortens a text to a width, with an ellipsis.
func fit(s string, size, most float64) string {
	if most <= 0 {
		return ""
	}
	if textWidth(s, size) <= most {
		return s
	}
	runes := []rune(s)
	low, high := 0, len(runes) // of which low fit, high do not
	for high-low > 1 {
		if mid := (low + high) / 2; textWidth(string(runes[:mid])+"…", size) <= most {
			low = mid
		} else {
			high = mid
		}
	}
	if low == 0 {
		return ""
	}
	return string(runes[:low]) + "…"
}

// wrap breaks a text between words into lines of a width; a longer word has a line of its own.
func wrap(s string, size, most float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case textWidth(line+" "+word, size) <= most:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
