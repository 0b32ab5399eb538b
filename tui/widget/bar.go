package widget

import (
	"strings"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// Piece is a styled part of a bar.
type Piece struct {
	Text  string
	Style theme.Style
}

// Width returns the number of cells of pieces.
func Width(pieces []Piece) int {
	n := 0
	for _, p := range pieces {
		n += chart.Width(p.Text)
	}
	return n
}

// Put draws pieces from (x,y) and returns the column after them.
func Put(c *chart.Canvas, x, y int, pieces []Piece) int {
	for _, p := range pieces {
		x = c.Text(x, y, p.Text, p.Style)
	}
	return x
}

// KeyGroup is the pieces of one binding in a footer, with its rank: a narrow footer drops the highest
// ranks first.
type KeyGroup struct {
	Pieces []Piece
	Rank   int
}

// Hint returns the group of a key and the word for its action.
func Hint(key, does string, rank int) KeyGroup {
	return KeyGroup{[]Piece{{key, theme.Key}, {" " + does, theme.Plain}}, rank}
}

// LastRank is the highest rank of a group.
const LastRank = 11

// KeyGap is the space between two bindings in a footer.
const KeyGap = 2

// FitKeys selects groups that fit in w cells, by increasing rank, and keeps their order. missing is
// the lowest rank of those that do not fit.
func FitKeys(groups []KeyGroup, w int) (out []Piece, missing int) {
	keep := make([]bool, len(groups))
	used := 0
	missing = LastRank + 1
	for rank := 0; rank <= LastRank; rank++ {
		for i, g := range groups {
			if g.Rank == rank && used+Width(g.Pieces) <= w {
				used += Width(g.Pieces) + KeyGap
				keep[i] = true
			}
		}
	}
	for i, g := range groups {
		if !keep[i] {
			missing = min(missing, g.Rank)
			continue
		}
		if len(out) > 0 {
			out = append(out, Piece{strings.Repeat(" ", KeyGap), theme.Plain})
		}
		out = append(out, g.Pieces...)
	}
	return out, missing
}

// Tell draws the keys of a row, room cells wide, and a text beside them. A text that does not fit there
// replaces the keys, and if longer, whatever else is in the row.
func Tell(c *chart.Canvas, y, room int, keys []Piece, text string, style theme.Style) {
	if Beside(room, keys, text) {
		c.Text(Put(c, 1, y, keys)+KeyGap, y, text, style)
		return
	}
	w, _ := c.Size()
	if chart.Width(text) > room {
		c.Fill(0, y, w, 1, ' ', theme.Plain)
		room = w - 2
	}
	c.Text(1, y, chart.Cut(text, room), style)
}

// Beside reports whether a text fits beside keys in a row of room cells.
func Beside(room int, keys []Piece, text string) bool {
	return text == "" || Width(keys)+KeyGap+chart.Width(text) <= room
}
