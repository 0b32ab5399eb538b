package screen

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

var tab = tea.KeyPressMsg{Code: tea.KeyTab}

func TestTabGoesThroughThePanesInReadingOrder(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	var got []string
	for range 8 {
		m.Update(tab)
		got = append(got, deck.Panes[m.focus].Name)
	}
	want := "reconstruction k-space phases effects quality and loss caches memory reconstruction"
	if strings.Join(got, " ") != want {
		t.Errorf("tab goes %q, want %q", got, want)
	}
	m.Update(tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift})
	if m.focus != idMemory {
		t.Errorf("shift+tab goes to %s", deck.Panes[m.focus].Name)
	}
	press(m, "esc")
	if m.focus != layout.None {
		t.Errorf("after esc %s has the keys", deck.Panes[m.focus].Name)
	}
}

func TestZoomGivesOnePaneTheScreenAndEscTakesItBack(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		w, h := size[0], size[1]
		m, _ := screen(t, w, h, Options{}, colorprofile.ANSI256, tuitest.Running())
		before := m.View().Content
		for range m.readingOrder() {
			m.Update(tab)
			press(m, "z")
			checkFrame(t, m, w, h)
			if r := m.layout.Panes[m.focus]; r.W != w || r.H != h-m.layout.Header.H-m.layout.Footer.H {
				t.Errorf("%dx%d: zoomed %s is %+v", w, h, deck.Panes[m.focus].Name, r)
			}
			press(m, "esc")
			checkFrame(t, m, w, h)
		}
		press(m, "esc")
		if got := m.View().Content; got != before {
			t.Errorf("%dx%d: the screen is not what it was before zooming", w, h)
		}
	}
}
