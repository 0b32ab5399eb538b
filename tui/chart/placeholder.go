package chart

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi/kitty"

	"prismtop/tui/theme"
)

// MaxPlaces is the maximum number of rows or columns of cells of a picture drawn by the
// terminal.
const MaxPlaces = 256

// Placeholder makes cell (x,y) the place of the cell (column,row) of the picture identified by
// the style. The terminal draws it there while the cell is on screen; to everything else it is a
// character with two combining marks.
func (c *Canvas) Placeholder(x, y, column, row int, image theme.Style) {
	if min(column, row) >= 0 && max(column, row) < MaxPlaces {
		c.Set(x, y, -rune(1+row*MaxPlaces+column), image)
	}
}

func appendPlaceholder(to []byte, r rune) []byte {
	at := int(-r) - 1
	for _, r := range []rune{kitty.Placeholder, kitty.Diacritic(at / MaxPlaces), kitty.Diacritic(at % MaxPlaces)} {
		to = utf8.AppendRune(to, r)
	}
	return to
}
