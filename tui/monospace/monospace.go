// Package monospace measures the width of characters in terminal cells, and substitutes
// characters whose width differs between terminals.
package monospace

import (
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
)

// RuneWidth returns the width of r in cells, 0 if it is not drawn.
func RuneWidth(r rune) int {
	_, width := Drawn(r)
	return width
}

// Width returns the width of s in cells.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += RuneWidth(r)
	}
	return n
}

// Drawn returns the character to draw for r, and its width. Characters that terminals may join
// with their neighbours into something of another width, such as halves of flags and the letters
// that make up Hangul syllables, are replaced.
func Drawn(r rune) (rune, int) {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xad:
		return r, 0
	case r < 0x300, r >= 0x2010 && r < 0x2028, r >= 0x2190 && r < 0x2300,
		r >= 0x2500 && r < 0x25fd, r >= 0x2800 && r < 0x2900: // glyphs used by the screen
		return r, 1
	}
	s := string(r)
	switch width := min(ansi.StringWidth(s), 2); {
	case width == 0 || joins("a", s):
		return r, 0
	case r == kitty.Placeholder || joins(s, "a") || joins(s, s):
		return '\ufffd', 1
	default:
		return r, width
	}
}

// joins reports whether two adjacent characters form one.
func joins(a, b string) bool {
	cluster, _ := ansi.FirstGraphemeCluster(a+b, ansi.GraphemeWidth)
	return len(cluster) > len(a)
}
