package terminal

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// Wire diffs frames and emits the smallest update. Bubble Tea's renderer parses every frame in
// full and rewrites each row from its first to its last difference, across all panes between;
// Wire only looks at rows that were drawn anew, and sends only their changed cells.
type Wire struct {
	w, h  int
	rows  []row
	theme *theme.Theme
	spare []chart.Cell

	sync   bool // the terminal supports synchronized output
	places bool // the terminal draws a placeholder in exactly one cell

	out   []byte
	pen   pen
	x, y  int  // position of the cursor; x < 0 if unknown
	ready bool // rows are the contents of the terminal
}

// row is a row of a frame, as drawn and as the terminal shows it.
type row struct{ drawn, shown []chart.Cell }

// blank is a plain space.
var blank = chart.Cell{Rune: ' '}

// Synchronize records that the terminal supports synchronized output.
func (s *Wire) Synchronize() { s.sync = true }

// Frame returns the bytes that make the terminal show a frame; nil if it already shows it. The result is valid
// until the next call.
func (s *Wire) Frame(frame *chart.Canvas, t *theme.Theme) []byte {
	w, h := frame.Size()
	// The terminal may have been cleared, and so be ready, before there was a frame or a size.
	whole := s.w != w || s.h != h || !s.ready || s.theme == nil || *s.theme != *t
	if whole {
		s.w, s.h, s.theme, s.rows = w, h, t, make([]row, h)
	}
	s.begin()
	for y := range s.rows {
		r, drawn := &s.rows[y], frame.Row(y)
		if slices.Equal(drawn, r.drawn) {
			continue
		}
		r.drawn = append(r.drawn[:0], drawn...)
		s.spare, r.shown = r.shown, frame.Shown(s.spare[:0], y, t)
		for x, c := range r.shown {
			if c.Rune == ' ' && c.Style != theme.Plain {
				if look := t.Look(c.Style); look.Back == "" && look.Other == "" {
					r.shown[x] = blank // the colour of a space cannot be seen
				}
			}
		}
		if !whole {
			s.update(y, s.spare, r.shown)
		}
	}
	if whole {
		return s.repaint()
	}
	return s.end()
}

// repaint draws everything again.
func (s *Wire) repaint() []byte {
	s.begin()
	s.out = append(s.out, ansi.EraseEntireScreen...)
	empty := slices.Repeat([]chart.Cell{blank}, s.w)
	for y := range s.rows {
		s.update(y, empty, s.rows[y].shown)
	}
	s.ready = true
	return s.end()
}

func (s *Wire) begin() {
	s.out = s.out[:0]
	if s.sync {
		s.out = append(s.out, ansi.SetModeSynchronizedOutput...)
	}
	s.pen, s.x, s.y = pen{theme: s.theme}, -1, 0
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
func (s *Wire) update(y int, before, now []chart.Cell) {
	if s.intricate(before) || s.intricate(now) {
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
			case now[j].Rune < 0, now[j].Style != now[end-1].Style &&
				!(now[j] == blank && s.theme.Look(now[end-1].Style).Back == ""):
				gap = gapLimit + 1
			default:
				gap += utf8.RuneLen(now[j].Rune)
			}
		}
		s.run(y, x, now[x:end])
		x = end
	}
}

// intricate reports whether a row has cells whose width differs between terminals, so that the
// row is only sent as a whole.
func (s *Wire) intricate(row []chart.Cell) bool {
	return slices.ContainsFunc(row, func(c chart.Cell) bool { return c.Rune == 0 || c.Rune < 0 && !s.places })
}

// run sends cells from (x, y). Plain spaces up to the end of the row are erased.
func (s *Wire) run(y, x int, cells []chart.Cell) {
	s.move(x, y)
	last := len(cells)
	if x+last == s.w {
		for last > 0 && cells[last-1] == blank {
			last--
		}
		if len(cells)-last <= len(ansi.EraseLineRight) {
			last = len(cells)
		}
	}
	for _, c := range cells[:last] {
		if c.Rune != 0 {
			s.out = c.Append(s.pen.wear(s.out, c))
		}
	}
	s.x, s.y = x+last, y
	if last < len(cells) {
		s.out = append(s.pen.wear(s.out, blank), ansi.EraseLineRight...)
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
