package tui

import (
	"fmt"

	"prismtop/tui/terminal"
)

// This file is what the screen does to keep the bandwidth that was chosen.

// budgetPictures tells the panes of pictures what they may take now.
func (m *Model) budgetPictures() {
	if in := m.pace.InForce(m.now()); in != m.pictured {
		m.budgetPicturesFor(in)
	}
}

func (m *Model) budgetPicturesFor(b terminal.Bandwidth) {
	m.pictured = b
	for _, p := range m.panes {
		if p, ok := p.(pictured); ok {
			p.SetBudget(int(b.Budget().Pictures), b == terminal.LowBandwidth)
		}
	}
	m.stale = true
}

// cycleBandwidth chooses the next bandwidth.
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
	m.say(fmt.Sprintf("bandwidth %s: %.0f frames/s, %s", chosen, 1/b.Period.Seconds(), limit))
}
