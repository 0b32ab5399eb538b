package widget

import (
	"fmt"
	"strings"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// Line is a line of a sheet: text after a key or another prefix.
type Line struct {
	Key   string
	Text  string
	Style theme.Style
}

// Widths of the parts of a sheet.
const (
	sheetKeyWidth    = 9
	sheetColumnWidth = 52
	sheetColumnLeast = 36
)

// Columns lays blocks, made for a width, out in the smallest number of columns that fits in h rows, or in
// as many as fit in w cells; width is that of one column.
func Columns(w, h int, blocks func(width int) [][]Line) (columns [][]Line, width int) {
	for n := 1; n == 1 || n*(sheetColumnLeast+2)-2 <= w; n++ {
		width = min((w-2*(n-1))/n, sheetColumnWidth)
		columns = flow(blocks(width), n)
		if tallest(columns) <= h {
			break
		}
	}
	return columns, width
}

// Title returns a block's title in lines of w cells.
func Title(title string, w int) []Line { return Wrapped(title, w, theme.Title) }

// KeyLines returns a key and its description in lines of w cells.
func KeyLines(key, does string, w int) []Line {
	var lines []Line
	for _, l := range words.Wrap(does, w-sheetKeyWidth+1) {
		lines = append(lines, Line{Key: key, Text: l})
		key = " " // the text continues below its beginning
	}
	return lines
}

// Wrapped wraps a text into lines of w cells.
func Wrapped(text string, w int, style theme.Style) []Line {
	var lines []Line
	for _, l := range words.Wrap(text, w) {
		lines = append(lines, Line{Text: l, Style: style})
	}
	return lines
}

// Sheet draws a sheet with columns of w cells, scrolled to its current row, on a screen of screenW by
// screenH cells. more precedes the closing key in its footer.
func Sheet(s *Scroll, title, more string, columns [][]Line, w, screenW, screenH int) *chart.Canvas {
	rows := tallest(columns)
	top, end := s.Fit(rows, screenH-2)
	shown := end - top
	foot := strings.Trim(more+" · esc closes", " ·")
	if shown < rows {
		foot = fmt.Sprintf("↑↓ %d-%d of %d · %s", top+1, end, rows, foot)
	}
	return Dialog(title, foot, min(w+4, screenW), min(shown+2, screenH), func(c *chart.Canvas) {
		cw, _ := c.Size()
		width := (cw - 2*(len(columns)-1)) / len(columns)
		for i, lines := range columns {
			part := c.Sub(i*(width+2), 0, width, shown)
			for y := 0; y < shown && top+y < len(lines); y++ {
				lines[top+y].draw(&part, y)
			}
		}
	})
}

func (l *Line) draw(c *chart.Canvas, y int) {
	w, _ := c.Size()
	x := 0
	if l.Key != "" {
		c.TextRight(sheetKeyWidth-2, y, l.Key, theme.Key)
		x = sheetKeyWidth - 1
	}
	c.Text(x, y, chart.Cut(l.Text, w-x), l.Style)
}

func tallest(columns [][]Line) int {
	rows := 0
	for _, lines := range columns {
		rows = max(rows, len(lines))
	}
	return rows
}

// flow distributes whole blocks over columns so that the tallest column is as short as possible.
func flow(blocks [][]Line, columns int) [][]Line {
	for limit := 1; ; limit++ {
		out := [][]Line{nil}
		for _, b := range blocks {
			last := &out[len(out)-1]
			if len(*last) > 0 && len(*last)+1+len(b) > limit {
				out = append(out, nil)
				last = &out[len(out)-1]
			}
			if len(*last) > 0 {
				*last = append(*last, Line{})
			}
			*last = append(*last, b...)
		}
		if len(out) <= columns {
			return out
		}
	}
}
