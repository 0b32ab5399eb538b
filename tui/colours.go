package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Colours says how the screen is coloured.
type Colours uint8

// The colours. Hues are the same in all: Okabe and Ito's, which readers with any
// of the common colour deficiencies can tell apart.
const (
	AutoColours  Colours = iota // by the terminal's own answers
	DarkColours                 // for a dark ground
	LightColours                // for a light ground
	NoColours                   // bold and faint only
	numColours
)

var coloursNames = [numColours]string{"auto", "dark", "light", "mono"}

// String is the colours' name on the command line.
func (c Colours) String() string { return coloursNames[c] }

// ParseColours is the colours of that name.
func ParseColours(name string) (Colours, error) {
	for c, n := range coloursNames {
		if n == name {
			return Colours(c), nil
		}
	}
	return 0, fmt.Errorf("%q: must be one of %s", name, strings.Join(coloursNames[:], ", "))
}

// ground is what the terminal said about its colours.
type ground struct {
	profile colorprofile.Profile
	dark    bool
}

// as is the ground as the chosen colours want it.
func (g ground) as(c Colours) ground {
	switch c {
	case DarkColours:
		g.dark = true
	case LightColours:
		g.dark = false
	case NoColours:
		g.profile = colorprofile.ASCII
	}
	return g
}

// deepen takes the terminal's answer that it has 24-bit colours: the name that
// terminfo has for them, perhaps with a value.
func (m *Model) deepen(capability string) {
	name, _, _ := strings.Cut(capability, "=")
	if (name == "RGB" || name == "Tc") && m.ground.profile != colorprofile.TrueColor && !m.options.NoColor {
		m.ground.profile = colorprofile.TrueColor
		m.retheme()
	}
}

// cycleColours chooses the next colours.
func (m *Model) cycleColours() {
	m.colours = (m.colours + 1) % numColours
	m.keep.Theme = m.colours.String()
	m.retheme()
	text := "colours " + m.colours.String()
	if m.colours == AutoColours {
		text += ": by the terminal's answers"
	}
	m.say(text)
}
