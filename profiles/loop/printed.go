package loop

import (
	"strings"
	"unicode/utf8"

	"prismtop/profiles/visible"
)

// Printed is the end of what a program printed, as a terminal would show it: what is written over is there in its last
// state, colours are gone. The zero value has nothing.
type Printed struct {
	most, wide int

	lines  [][]rune // the newest
	row    int      // of the cursor, in lines
	column int
	gone   int64  // lines before those
	rest   []byte // of a rune or an escape sequence that is not whole
}

// NewPrinted returns one that keeps a number of lines, each of a number of characters.
func NewPrinted(most, wide int) *Printed {
	return &Printed{most: most, wide: wide, lines: [][]rune{nil}}
}

// Write takes what was printed next.
func (p *Printed) Write(b []byte) (int, error) {
	n := len(b)
	b = append(p.rest, b...)
	p.rest = nil
	for len(b) > 0 {
		switch b[0] {
		case '\n':
			p.down()
			b = b[1:]
		case '\r':
			p.column, b = 0, b[1:]
		case '\b':
			p.column, b = max(0, p.column-1), b[1:]
		case 0x1b:
			length, whole := p.escape(b)
			if !whole && len(b) < 64 {
				p.rest = append([]byte(nil), b...)
				return n, nil
			}
			b = b[max(length, 1):]
		default:
			if !utf8.FullRune(b) {
				p.rest = append([]byte(nil), b...)
				return n, nil
			}
			r, size := utf8.DecodeRune(b)
			p.put(r)
			b = b[size:]
		}
	}
	return n, nil
}

// put writes a character at the cursor.
func (p *Printed) put(r rune) {
	line := &p.lines[p.row]
	if p.column >= p.wide {
		return
	}
	for len(*line) <= p.column {
		*line = append(*line, ' ')
	}
	(*line)[p.column] = r
	p.column++
}

// down goes to the beginning of the next line.
func (p *Printed) down() {
	p.row, p.column = p.row+1, 0
	if p.row < len(p.lines) {
		return
	}
	p.lines = append(p.lines, nil)
	if len(p.lines) > p.most {
		p.lines = append(p.lines[:0], p.lines[1:]...)
		p.row--
		p.gone++
	}
}

// escape obeys the escape sequence at the beginning of b as far as progress bars need it: cursor up and down, erase. It
// returns its length; whole is false if it goes on after b.
func (p *Printed) escape(b []byte) (length int, whole bool) {
	if len(b) < 2 {
		return 0, false
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				p.control(string(b[2:i]), b[i])
				return i + 1, true
			}
		}
		return 0, false
	case ']': // a title
		for i := 2; i < len(b); i++ {
			if b[i] == 7 || b[i] == '\\' && b[i-1] == 0x1b {
				return i + 1, true
			}
		}
		return 0, false
	}
	return 2, true
}

func (p *Printed) control(parameters string, command byte) {
	n := 0
	for _, r := range parameters {
		if r >= '0' && r <= '9' && n < 1000 {
			n = 10*n + int(r-'0')
		}
	}
	line := &p.lines[p.row]
	switch command {
	case 'A':
		p.row = max(0, p.row-max(n, 1))
	case 'B':
		p.row = min(len(p.lines)-1, p.row+max(n, 1))
	case 'G':
		p.column = min(max(n-1, 0), p.wide)
	case 'K':
		switch {
		case n == 0 && p.column < len(*line):
			*line = (*line)[:p.column]
		case n == 2:
			*line = nil
		}
	}
}

// Lines returns the newest lines, and the number of all of them.
func (p *Printed) Lines() (lines []string, all int64) {
	n := len(p.lines)
	for n > 0 && len(p.lines[n-1]) == 0 {
		n--
	}
	lines = make([]string, n)
	for i := range lines {
		lines[i] = visible.Text(strings.TrimRight(strings.ReplaceAll(string(p.lines[i]), "\t", "    "), " "))
	}
	return lines, p.gone + int64(n)
}
