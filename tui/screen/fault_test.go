package screen

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/chart"
	"prismtop/tui/pane"
	"prismtop/tui/tuitest"
)

// faulty is a pane that panics when drawn.
type faulty struct{ pane.Pane }

func (faulty) Cells() *chart.Canvas { panic("planted") }

// A panic while drawing ends the screen in order and is reported.
func TestAFaultInDrawingEndsTheScreen(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	m.panes[idCaches] = faulty{m.panes[idCaches]}
	next, cmd := m.Update(snapshotMsg{tuitest.Running()})
	if next != tea.Model(m) || cmd == nil {
		t.Fatalf("the screen became %v", next)
	}
	if _, ok := cmd().(tea.QuitMsg); !ok {
		t.Error("the screen goes on")
	}
	if m.crash == nil || !strings.Contains(m.crash.Error(), "planted") {
		t.Errorf("the fault is told as %v", m.crash)
	}
}
