package tui

import (
	"math/rand/v2"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// walkKeys are what a random user presses: every key of the tables that neither
// ends the program nor leaves it, and those of panes, lists and the help.
func walkKeys() []tea.KeyPressMsg {
	keys := []tea.KeyPressMsg{
		{Code: tea.KeyUp}, {Code: tea.KeyDown}, {Code: tea.KeyLeft}, {Code: tea.KeyRight},
		{Code: tea.KeyPgUp}, {Code: tea.KeyPgDown}, {Code: tea.KeyHome}, {Code: tea.KeyEnd},
		{Code: tea.KeyTab}, {Code: tea.KeyTab, Mod: tea.ModShift}, {Code: tea.KeyEnter}, {Code: tea.KeySpace, Text: " "}, {Code: tea.KeyEscape},
	}
	for r := rune('!'); r <= '~'; r++ {
		if r != 'y' && r != 'Y' { // the answer that quits
			keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return keys
}

// Whatever keys, clicks, sizes and snapshots come: no panic, every line as wide as
// the screen, and the screen that grew out of it all is the one drawn from
// scratch.
func TestARandomWalkHoldsTheScreen(t *testing.T) {
	steps := 3000
	if testing.Short() {
		steps = 300
	}
	random := rand.New(rand.NewPCG(5, 6))
	keys := walkKeys()
	at := time.Unix(1e9, 0)
	m, _ := screen(t, 120, 40, Options{Now: func() time.Time { return at }}, colorprofile.ANSI256, running())
	w, h := 120, 40
	for step := range steps {
		at = at.Add(time.Duration(random.IntN(500)) * time.Millisecond)
		switch n := random.IntN(20); {
		case n == 0:
			w, h = 40+random.IntN(261), 10+random.IntN(91)
			m.Update(tea.WindowSizeMsg{Width: w, Height: h})
		case n == 1:
			m.Update(snapshotMsg{states[random.IntN(len(states))]()})
		case n == 2:
			m.Update(tea.MouseClickMsg{X: random.IntN(w), Y: random.IntN(h), Button: tea.MouseLeft})
		case n == 3:
			m.Update(tea.MouseWheelMsg{X: random.IntN(w), Y: random.IntN(h), Button: tea.MouseWheelDown})
		default:
			m.Update(keys[random.IntN(len(keys))])
		}
		checkFrame(t, m, w, h)
		if w >= minWidth && h >= minHeight && !m.zoomed {
			if err := tiled(&m.layout); err != nil {
				t.Fatalf("step %d, %dx%d: %v", step, w, h, err)
			}
		}
		if step%50 == 0 { // nothing of what was drawn before is left
			before := m.View().Content
			m.resize(w-1, h)
			m.resize(w, h)
			m.compose()
			if join(m.rows) != before {
				t.Fatalf("step %d, %dx%d: the screen drawn from scratch differs", step, w, h)
			}
		}
	}
}
