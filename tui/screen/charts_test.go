package screen

import (
	"math/rand/v2"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles/profilestest"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// Whatever keys are pressed while a run is running, paused or restarted, the frame stays valid,
// and a key changes only the focused pane.
func TestChartsHoldUnderRandomKeys(t *testing.T) {
	profilestest.OneGoroutine(t)
	random := rand.New(rand.NewPCG(3, 4))
	keys := []string{"left", "right", "up", "down", "pgup", "pgdown", "home", "end", "x", "v", "z"}
	for round := range 12 {
		w, h := 60+random.IntN(140), 15+random.IntN(50)
		m, _ := screen(t, w, h, Options{ASCII: round%3 == 0}, colorprofile.ANSI256, tuitest.Running())
		m.setFocus([]layout.Pane{idIterationTime, idLoss, idPhases}[round%3])
		for range 120 {
			switch random.IntN(12) {
			case 0:
				m.Update(snapshotMsg{tuitest.Steady(random.IntN(900), random.IntN(900))})
			case 1:
				m.Update(snapshotMsg{states[random.IntN(len(states))]()})
			case 2:
				w, h = 60+random.IntN(140), 15+random.IntN(50)
				m.Update(tea.WindowSizeMsg{Width: w, Height: h})
			default:
				key := keys[random.IntN(len(keys))]
				if m.focus != layout.None && !m.panes[m.focus].Press(key) && key == "z" {
					m.toggleZoom()
				}
				m.stale = true
				m.Update(tea.FocusMsg{})
			}
			checkFrame(t, m, w, h)
		}
	}
}
