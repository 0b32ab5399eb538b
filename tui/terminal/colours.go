package terminal

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Colours selects the colours of the screen.
type Colours uint8

// The colours. All use the hues of Okabe and Ito, which readers with any of the common colour
// deficiencies can distinguish.
const (
	AutoColours  Colours = iota // by the terminal's answers
	DarkColours                 // for a dark background
	LightColours                // for a light background
	NoColours                   // bold and faint only
	numColours
)

var coloursNames = [numColours]string{"auto", "dark", "light", "mono"}

// String returns the name on the command line.
func (c Colours) String() string { return coloursNames[c] }

// ParseColours returns the colours with that name.
func ParseColours(name string) (Colours, error) {
	for c, n := range coloursNames {
		if n == name {
			return Colours(c), nil
		}
	}
	return 0, fmt.Errorf("%q: must be one of %s", name, strings.Join(coloursNames[:], ", "))
}

// Next returns the colours after c, wrapping around after the last.
func (c Colours) Next() Colours { return (c + 1) % numColours }

// Ground holds the terminal's answers about its colours.
type Ground struct {
	Profile colorprofile.Profile
	Dark    bool
}

// As returns the ground adjusted to the chosen colours.
func (g Ground) As(c Colours) Ground {
	switch c {
	case DarkColours:
		g.Dark = true
	case LightColours:
		g.Dark = false
	case NoColours:
		g.Profile = colorprofile.ASCII
	}
	return g
}

// MeansTrueColour reports whether a capability claimed by the terminal is 24-bit colour: a
// terminfo name for it, possibly with a value.
func MeansTrueColour(capability string) bool {
	name, _, _ := strings.Cut(capability, "=")
	return name == "RGB" || name == "Tc"
}
