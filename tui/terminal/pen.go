package terminal

import (
	"github.com/charmbracelet/x/ansi"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// pen tracks the terminal's current style and computes the sequences for the next one.
type pen struct {
	theme *theme.Theme
	worn  theme.Look
	style theme.Style // asked for last
	look  theme.Look  // of that style
}

// Parameters that reset one attribute.
const (
	plainWeight = "22"
	plainFore   = "39"
	plainBack   = "49"
)

// wear appends the shortest sequences that set the style of a cell. For a space, only the
// background matters.
func (p *pen) wear(out []byte, c chart.Cell) []byte {
	if c.Style != p.style {
		p.style, p.look = c.Style, p.theme.Look(c.Style)
	}
	return p.put(out, p.look, c.Rune)
}

// put appends the shortest sequences that set a look for a character.
func (p *pen) put(out []byte, to theme.Look, r rune) []byte {
	if r == ' ' && to.Other == "" && p.worn.Other == "" && (to.Back != "" || p.worn.Back == "") {
		to.Weight, to.Fore = p.worn.Weight, p.worn.Fore
	}
	return p.change(out, to)
}

// lift appends the sequence that resets the style.
func (p *pen) lift(out []byte) []byte { return p.change(out, theme.Look{}) }

// change appends the shorter of two ways to set another look: from the current one, or after a
// reset.
func (p *pen) change(out []byte, to theme.Look) []byte {
	from := p.worn
	if from == to {
		return out
	}
	p.worn = to
	switch {
	case to == theme.Look{}:
		return append(out, ansi.ResetStyle...)
	case from.Other != "" || to.Other != "":
		return append(append(append(append(out, ansi.ResetStyle...), "\x1b["...), to.Parameters()...), 'm')
	}
	var step, anew sequence
	if from.Weight != to.Weight {
		if from.Weight != "" {
			step.add(plainWeight)
		}
		step.add(to.Weight)
	}
	step.colour(from.Fore, to.Fore, plainFore)
	step.colour(from.Back, to.Back, plainBack)
	if from != (theme.Look{}) {
		anew.add("0")
	}
	anew.add(to.Weight)
	anew.add(to.Fore)
	anew.add(to.Back)
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
