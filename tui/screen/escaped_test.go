package screen

import (
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/tuitest"
)

// A key that arrives together with esc has the effect of both.
func TestAKeyBehindEscActs(t *testing.T) {
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running())
	m.Update(pressed("tab"))
	m.Update(pressed("z"))
	m.Update(tea.KeyPressMsg{Code: 'p', Mod: tea.ModAlt | tea.ModShift})
	if m.zoomed || !lies[*chooser](m) {
		t.Errorf("after esc and P at once: zoomed %v, list of panes %v", m.zoomed, over[*chooser](m))
	}
}
