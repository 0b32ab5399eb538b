package screen

import (
	"fmt"
	"math"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles/unit"
	"prismtop/tui/pane"
	"prismtop/tui/terminal"
)

// This file applies the terminal's capabilities: pictures, colours and bandwidth.

// hear handles a possible answer of the terminal.
func (m *Model) hear(msg tea.Msg) tea.Cmd {
	cmd, changed := m.graphics.Hear(msg, m.layout.W, m.layout.H)
	if changed {
		m.stale = true
		m.redrawPictured()
		if m.out != nil {
			m.out.TrustPlaces(m.graphics.Draws())
		}
	}
	return cmd
}

// redrawPictured redraws the panes with pictures.
func (m *Model) redrawPictured() {
	for _, p := range m.panes {
		if _, ok := p.(pane.Pictured); ok {
			p.Redraw()
		}
	}
}

// redrawPictures sends all pictures again after the terminal has lost them.
func (m *Model) redrawPictures() {
	m.graphics.Forget()
	m.redrawPictured()
	m.stale = true
}

// sendPictures adds the pictures to be sent to cmd, and sets the sequences that delete them at
// the end.
func (m *Model) sendPictures(cmd tea.Cmd) tea.Cmd {
	send := m.graphics.Send()
	if send == nil {
		return cmd
	}
	if m.out != nil {
		m.out.SetFarewell(m.graphics.Farewell())
	}
	return tea.Batch(cmd, send)
}

// deepen handles the terminal's answer that it supports 24-bit colours.
func (m *Model) deepen(capability string) {
	if terminal.MeansTrueColour(capability) && m.ground.Profile != colorprofile.TrueColor && !m.options.NoColor {
		m.ground.Profile = colorprofile.TrueColor
		m.retheme()
	}
}

// cycleColours selects the next colours.
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

// budgetPictures sets the current bandwidth limit of the panes with pictures.
func (m *Model) budgetPictures() {
	if in := m.pace.InForce(m.now()); in != m.pictured {
		m.budgetPicturesFor(in)
	}
}

func (m *Model) budgetPicturesFor(b terminal.Bandwidth) {
	m.pictured = b
	for _, p := range m.panes {
		if p, ok := p.(pane.Pictured); ok {
			p.SetBudget(int(b.Budget().Pictures), b == terminal.LowBandwidth)
		}
	}
	m.stale = true
}

// cycleBandwidth selects the next bandwidth.
func (m *Model) cycleBandwidth() {
	chosen := m.pace.Chosen().Next()
	m.pace.Choose(chosen)
	m.keep.Bandwidth = chosen.String()
	m.budgetPictures()
	b := chosen.Budget()
	limit := "no limit"
	if b.Limit > 0 {
		limit = fmt.Sprintf("at most %.3g KB/s", b.Limit/1000)
	}
	frames := int(math.Round(1 / b.Period.Seconds()))
	m.say(fmt.Sprintf("bandwidth %s: %s/s, %s", chosen, unit.Plural(frames, "frame", "frames"), limit))
}
