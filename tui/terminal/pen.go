package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// pen is the style that the terminal draws with, and what is to be sent for another.
type pen struct {
	worn look
	text string // the sequences that were read last
	read look   // what they set
}

// look is what sequences set, as their parameters: bold or faint, the colours, and
// anything else, with all that stands beside it.
type look struct{ weight, fore, back, other string }

// Parameters that undo one thing.
const (
	plainWeight = "22"
	plainFore   = "39"
	plainBack   = "49"
)

// background begins a background's parameters.
const background = "48;"

// wear appends what puts the style of a cell in force: as little as does. Of a space
// only the background counts.
func (p *pen) wear(out []byte, g glyph) []byte {
	if g.style != p.text {
		p.text, p.read = g.style, readLook(g.style)
	}
	to := p.read
	if g.text == " " && to.other == "" && p.worn.other == "" && (to.back != "" || p.worn.back == "") {
		to.weight, to.fore = p.worn.weight, p.worn.fore
	}
	return p.change(out, to)
}

// lift appends what ends every style.
func (p *pen) lift(out []byte) []byte { return p.change(out, look{}) }

// change appends the shorter of two ways to another look: from the one in force, or
// from none.
func (p *pen) change(out []byte, to look) []byte {
	from := p.worn
	if from == to {
		return out
	}
	p.worn = to
	switch {
	case to == look{}:
		return append(out, ansi.ResetStyle...)
	case from.other != "" || to.other != "":
		return append(append(append(append(out, ansi.ResetStyle...), "\x1b["...), to.parameters()...), 'm')
	}
	var step, anew sequence
	if from.weight != to.weight {
		if from.weight != "" {
			step.add(plainWeight)
		}
		step.add(to.weight)
	}
	step.colour(from.fore, to.fore, plainFore)
	step.colour(from.back, to.back, plainBack)
	if from != (look{}) {
		anew.add("0")
	}
	anew.add(to.weight)
	anew.add(to.fore)
	anew.add(to.back)
	if anew.bytes < step.bytes {
		return anew.appendTo(out)
	}
	return step.appendTo(out)
}

// sequence is parameters that are sent together.
type sequence struct {
	parts    [4]string
	n, bytes int
}

func (s *sequence) add(part string) {
	if part != "" {
		s.parts[s.n] = part
		s.n++
		s.bytes += len(part) + 1
	}
}

func (s *sequence) colour(from, to, none string) {
	switch {
	case from == to:
	case to == "":
		s.add(none)
	default:
		s.add(to)
	}
}

func (s *sequence) appendTo(out []byte) []byte {
	out = append(out, "\x1b["...)
	for i, part := range s.parts[:s.n] {
		if i > 0 {
			out = append(out, ';')
		}
		out = append(out, part...)
	}
	return append(out, 'm')
}

// readLook reads sequences that follow a reset.
func readLook(style string) (l look) {
	for style != "" {
		one, rest, _ := strings.Cut(strings.TrimPrefix(style, "\x1b["), "m")
		style = rest
		for one != "" {
			n := parameterLength(one)
			l.set(one[:n])
			one = strings.TrimPrefix(one[n:], ";")
		}
	}
	return l
}

// parameterLength is the length of the first parameter, with those that name its
// colour.
func parameterLength(list string) int {
	parts := 1
	switch {
	case strings.HasPrefix(list, "38;5;"), strings.HasPrefix(list, "48;5;"):
		parts = 3
	case strings.HasPrefix(list, "38;2;"), strings.HasPrefix(list, "48;2;"):
		parts = 5
	}
	for i := range len(list) {
		if list[i] == ';' {
			if parts--; parts == 0 {
				return i
			}
		}
	}
	return len(list)
}

func (l *look) set(parameter string) {
	switch {
	case parameter == "" || parameter == "0":
		*l = look{}
	case parameter == "1" || parameter == "2":
		if l.weight != "" && l.weight != parameter {
			parameter = "1;2"
		}
		l.weight = parameter
	case strings.HasPrefix(parameter, "38;"), len(parameter) == 2 && (parameter[0] == '3' || parameter[0] == '9') && parameter[1] < '8':
		l.fore = parameter
	case strings.HasPrefix(parameter, background):
		l.back = parameter
	case l.other == "":
		l.other = parameter
	default:
		l.other += ";" + parameter
	}
}

// parameters are all of them.
func (l look) parameters() string {
	var set []string
	for _, part := range []string{l.other, l.weight, l.fore, l.back} {
		if part != "" {
			set = append(set, part)
		}
	}
	return strings.Join(set, ";")
}
