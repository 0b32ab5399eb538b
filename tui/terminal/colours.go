package terminal

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

// Next is the colours after c, and the first after the last.
func (c Colours) Next() Colours { return (c + 1) % numColours }

// Ground is what the terminal said about its colours.
type Ground struct {
	Profile colorprofile.Profile
	Dark    bool
}

// As is the ground as the chosen colours want it.
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

// MeansTrueColour says whether a capability that the terminal claims is that of 24-bit
// colours: the name that terminfo has for them, perhaps with a value.
func MeansTrueColour(capability string) bool {
	name, _, _ := strings.Cut(capability, "=")
	return name == "RGB" || name == "Tc"
}
