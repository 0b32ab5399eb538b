package chart

import (
	"strings"

	"github.com/charmbracelet/x/ansi/kitty"

	"prismtop/tui/theme"
)

// MaxPlaces is how many rows and columns of cells a picture that the terminal
// draws can have.
const MaxPlaces = 256

// Placeholder makes cell (x,y) the place for the cell (column,row) of the picture
// that the style names. The terminal draws it there for as long as the cell
// stands; to everything else it is a character with two combining marks.
func (c *Canvas) Placeholder(x, y, column, row int, image theme.Style) {
	if min(column, row) >= 0 && max(column, row) < MaxPlaces {
		c.Set(x, y, -rune(1+row*MaxPlaces+column), image)
	}
}

func writePlaceholder(b *strings.Builder, r rune) {
	at := int(-r) - 1
	b.WriteRune(kitty.Placeholder)
	b.WriteRune(kitty.Diacritic(at / MaxPlaces))
	b.WriteRune(kitty.Diacritic(at % MaxPlaces))
}
