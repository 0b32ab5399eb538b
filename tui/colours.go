package tui

import (
	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/terminal"
)

// This file is how the screen gets its colours.

// deepen takes the terminal's answer that it has 24-bit colours.
func (m *Model) deepen(capability string) {
	if terminal.MeansTrueColour(capability) && m.ground.Profile != colorprofile.TrueColor && !m.options.NoColor {
		m.ground.Profile = colorprofile.TrueColor
		m.retheme()
	}
}

// cycleColours chooses the next colours.
func (m *Model) cycleColours() {
	m.colours = m.colours.Next()
	m.keep.Theme = m.colours.String()
	m.retheme()
	text := "colours " + m.colours.String()
	if m.colours == terminal.AutoColours {
		text += ": by the terminal's answers"
	}
	m.say(text)
}
