package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// pen tracks the terminal's current style and computes the sequences for the next one.
type pen struct {
	worn look
	text string // the sequences read last
	read look   // the look they set
}

// look is a style as SGR parameters: bold or faint, the colours, and all others.
type look struct{ weight, fore, back, other string }

// Parameters that reset one attribute.
const (
	plainWeight = "22"
	plainFore   = "39"
	plainBack   = "49"
)

// background is the prefix of a background colour's parameters.
const background = "48;"

// wear appends the shortest sequences that set the style of a cell. For a space, only the
// background matters.
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

// lift appends the sequence that resets the style.
func (p *pen) lift(out []byte) []byte { return p.change(out, look{}) }

// change appends the shorter of two ways to set another look: from the current one, or after a
// reset.
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

// sequence holds parameters that are sent together.
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

// readLook parses sequences that follow a reset.
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

// parameterLength returns the length of the first parameter, including those that specify its
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
	case strings.HasPrefix(parameter, "38;"), len(parameter) == 2 && (parameter[0] == '3' || parameter[0] == '9') &&
		parameter[1] < '8':
		l.fore = parameter
	case strings.HasPrefix(parameter, background):
		l.back = parameter
	case l.other == "":
		l.other = parameter
	default:
		l.other += ";" + parameter
	}
}

// parameters returns all parameters of the look.
func (l look) parameters() string {
	var set []string
	for _, part := range []string{l.other, l.weight, l.fore, l.back} {
		if part != "" {
			set = append(set, part)
		}
	}
	return strings.Join(set, ";")
}
