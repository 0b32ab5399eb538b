// Package monospace says how many cells of a terminal a character takes, and which
// characters stand for those of which terminals disagree about that.
package monospace

import (
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
)

// RuneWidth is the number of cells that r takes: 0 for what is not drawn.
func RuneWidth(r rune) int {
	_, width := Drawn(r)
	return width
}

// Width is the number of cells that s takes.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += RuneWidth(r)
	}
	return n
}

// Drawn is the character that is drawn for r, and its width. Characters that
// terminals may join with those beside them, to something of another width, are
// replaced where they stand for themselves, as halves of flags and the letters that
// make up Hangul syllables do.
func Drawn(r rune) (rune, int) {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xad:
		return r, 0
	case r < 0x300, r >= 0x2010 && r < 0x2028, r >= 0x2190 && r < 0x2300,
		r >= 0x2500 && r < 0x25fd, r >= 0x2800 && r < 0x2900: // the screen's own glyphs
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

// joins says whether two characters side by side are one.
func joins(a, b string) bool {
	cluster, _ := ansi.FirstGraphemeCluster(a+b, ansi.GraphemeWidth)
	return len(cluster) > len(a)
}
