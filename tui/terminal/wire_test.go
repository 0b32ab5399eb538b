package terminal

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi/kitty"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// Next to placeholders only the changed cells are sent, unless the terminal's width for them is
// unknown: then the whole row is sent.
func TestRowsWithPlacesAreSentWholeWhereTheirWidthIsNotKnown(t *testing.T) {
	var c chart.Canvas
	c.Resize(40, 1)
	for x := range 10 {
		c.Placeholder(5+x, 0, x, 0, theme.Image(20))
	}
	colours := theme.New(colorprofile.ANSI256, true, false)
	row := func(text string) *chart.Canvas {
		c.Text(20, 0, text, theme.Plain)
		return &c
	}
	for _, sure := range []bool{true, false} {
		s := Wire{places: sure}
		s.Frame(row("12.3 ms"), colours)
		got := string(s.Frame(row("12.4 ms"), colours))
		if whole := strings.Count(got, string(kitty.Placeholder)) == 10; whole == sure || !strings.Contains(got, "4") {
			t.Errorf("places known %v: a digit beside them sends %q", sure, got)
		}
	}
}
