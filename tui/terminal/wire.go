package terminal

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"

	"prismtop/tui/monospace"
)

// Wire diffs frames and emits the smallest update. Bubble Tea's renderer parses every frame in
// full and rewrites each row from its first to its last difference, across all panes between;
// Wire only compares rows with unchanged text, and sends only the changed cells of the others.
type Wire struct {
	w, h  int
	rows  []string // as composed
	cells [][]glyph
	spare []glyph

	sync   bool // the terminal supports synchronized output
	places bool // the terminal draws a placeholder in exactly one cell

	out   []byte
	pen   pen
	x, y  int  // position of the cursor; x < 0 if unknown
	ready bool // cells holds the contents of the terminal
}

// glyph is a cell: its character with combining marks, and the sequences that set its style
// after a reset; a space has only those of a background. The right half of a wide character has
// no text.
type glyph struct{ text, style string }

// Synchronize records that the terminal supports synchronized output.
func (s *Wire) Synchronize() { s.sync = true }

// Frame returns the bytes that make the terminal show rows, each w cells wide; nil if it already
// shows them. The result is valid until the next call.
func (s *Wire) Frame(rows []string, w, h int) []byte {
	if s.w != w || s.h != h || !s.ready {
		s.w, s.h, s.rows = w, h, append(s.rows[:0], rows...)
		return s.repaint()
	}
	s.begin()
	for y, row := range rows {
		if row == s.rows[y] {
			continue
		}
		s.rows[y] = row
		s.spare = parseRow(s.spare[:0], row, w)
		s.update(y, s.cells[y], s.spare)
		s.cells[y], s.spare = s.spare, s.cells[y]
	}
	return s.end()
}

// repaint draws everything again.
func (s *Wire) repaint() []byte {
	s.begin()
	s.out = append(s.out, ansi.EraseEntireScreen...)
	for len(s.cells) < s.h {
		s.cells = append(s.cells, nil)
	}
	for y := range s.h {
		row := ""
		if y < len(s.rows) {
			row = s.rows[y]
		}
		s.spare = parseRow(s.spare[:0], "", s.w)
		s.cells[y] = parseRow(s.cells[y][:0], row, s.w)
		s.update(y, s.spare, s.cells[y])
	}
	s.ready = true
	return s.end()
}

func (s *Wire) begin() {
	s.out = s.out[:0]
	if s.sync {
		s.out = append(s.out, ansi.SetModeSynchronizedOutput...)
	}
	s.pen, s.x, s.y = pen{}, -1, 0
}

func (s *Wire) end() []byte {
	if s.x < 0 && s.y == 0 { // nothing was drawn
		return nil
	}
	s.out = s.pen.lift(s.out)
	if s.sync {
		s.out = append(s.out, ansi.ResetModeSynchronizedOutput...)
	}
	return s.out
}

// gapLimit is the number of bytes of unchanged cells that are sent again instead of moving the
// cursor over them.
const gapLimit = 4

// update sends the differences between two versions of row y.
func (s *Wire) update(y int, before, now []glyph) {
	if len(before) != len(now) || s.intricate(before) || s.intricate(now) {
		s.run(y, 0, now)
		return
	}
	for x := 0; x < len(now); {
		if before[x] == now[x] {
			x++
			continue
		}
		end, gap := x+1, 0
		for j := end; j < len(now) && gap <= gapLimit; j++ {
			switch {
			case before[j] != now[j]:
				end, gap = j+1, 0
			case now[j].style != now[end-1].style && !(now[j] == glyph{" ", ""} &&
				!strings.Contains(now[end-1].style, background)):
				gap = gapLimit + 1
			default:
				gap += len(now[j].text)
			}
		}
		s.run(y, x, now[x:end])
		x = end
	}
}

// placeholder is the first character of a placeholder of a picture.
const placeholder = string(kitty.Placeholder)

// intricate reports whether a row has cells whose width differs between terminals, so that the
// row is only sent as a whole.
func (s *Wire) intricate(row []glyph) bool {
	for _, g := range row {
		if s.places && strings.HasPrefix(g.text, placeholder) {
			continue
		}
		if g.text == "" || len(g.text) > utf8.UTFMax || len(g.text) > 1 && utf8.RuneCountInString(g.text) > 1 {
			return true
		}
	}
	return false
}

// run sends cells from (x, y). Plain spaces up to the end of the row are erased.
func (s *Wire) run(y, x int, cells []glyph) {
	s.move(x, y)
	last := len(cells)
	if x+last == s.w {
		for last > 0 && cells[last-1] == (glyph{" ", ""}) {
			last--
		}
		if len(cells)-last <= len(ansi.EraseLineRight) {
			last = len(cells)
		}
	}
	for _, g := range cells[:last] {
		if g.text == "" {
			continue
		}
		s.out = append(s.pen.wear(s.out, g), g.text...)
	}
	s.x, s.y = x+last, y
	if last < len(cells) {
		s.out = append(s.pen.wear(s.out, glyph{" ", ""}), ansi.EraseLineRight...)
	}
	if s.x >= s.w || s.intricate(cells[:last]) {
		s.x, s.y = -1, s.h // the cursor is past the last column or at an unknown position
	}
}

// move moves the cursor to (x, y).
func (s *Wire) move(x, y int) {
	switch {
	case s.x >= 0 && s.y == y && x == s.x:
		return
	case s.x >= 0 && s.y == y && x > s.x:
		s.out = append(s.out, ansi.CursorForward(x-s.x)...)
		return
	}
	s.out = append(s.out, "\x1b["...)
	s.out = strconv.AppendInt(s.out, int64(y+1), 10)
	if x > 0 {
		s.out = append(s.out, ';')
		s.out = strconv.AppendInt(s.out, int64(x+1), 10)
	}
	s.out = append(s.out, 'H')
}

// parseRow splits a composed row of w cells into glyphs.
func parseRow(cells []glyph, row string, w int) []glyph {
	style, from := "", 0
	for i := 0; i < len(row); {
		if row[i] == 0x1b {
			n := strings.IndexByte(row[i:], 'm') + 1
			if n == 0 {
				break
			}
			switch seq := row[i : i+n]; {
			case seq == "\x1b[m" || seq == "\x1b[0m":
				style = ""
			case style == "":
				style = seq
			default:
				style += seq
			}
			i += n
			continue
		}
		n, width := 1, 1
		if row[i] >= utf8.RuneSelf {
			var r rune
			r, n = utf8.DecodeRuneInString(row[i:])
			width = monospace.RuneWidth(r)
		}
		switch {
		case width > 0:
			from = i
			worn := style
			if row[i] == ' ' && !strings.Contains(style, background) {
				worn = ""
			}
			cells = append(cells, glyph{row[i : i+n], worn})
			if width == 2 {
				cells = append(cells, glyph{"", style})
			}
		case len(cells) > 0:
			cells[len(cells)-1].text = row[from : i+n]
		}
		i += n
	}
	for len(cells) < w {
		cells = append(cells, glyph{" ", ""})
	}
	return cells[:w]
}
