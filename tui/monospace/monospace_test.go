package monospace

import "testing"

func TestWhatIsDrawnAndHowWide(t *testing.T) {
	for _, tt := range []struct {
		r, drawn rune
		width    int
	}{
		{'a', 'a', 1}, {'é', 'é', 1}, {'月', '月', 2}, {'█', '█', 1}, {'⣿', '⣿', 1}, {'🌕', '🌕', 2},
		{'\t', '\t', 0}, {0x9b, 0x9b, 0}, {0xad, 0xad, 0}, {0x301, 0x301, 0}, {0x200d, 0x200d, 0},
		{0x10eeee, '\ufffd', 1}, // placeholder of a picture
		{'🇩', '\ufffd', 1},      // half of a flag
		{0x1112, '\ufffd', 1},   // the first letter of a syllable
	} {
		if r, width := Drawn(tt.r); r != tt.drawn || width != tt.width || RuneWidth(tt.r) != width {
			t.Errorf("%q is drawn as %q, %d wide, want %q, %d", tt.r, r, width, tt.drawn, tt.width)
		}
	}
}
