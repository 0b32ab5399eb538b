package screen

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/tuitest"
)

func TestPanesAreShownAndHiddenByKey(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	arrange(m, "everything")
	before := m.View().Content
	press(m, "P")
	frame := ansi.Strip(m.View().Content)
	for _, want := range []string{"Panes in everything", "1 ● phases", "9 ◌ quality", "no room"} {
		if !strings.Contains(frame, want) {
			t.Errorf("the list lacks %q:\n%s", want, frame)
		}
	}
	press(m, "2", "9") // not p: keys go to the list
	if !m.layout.Panes[idPicture].Empty() || m.layout.Panes[idQuality].Empty() {
		t.Errorf("picture %+v, quality %+v", m.layout.Panes[idPicture], m.layout.Panes[idQuality])
	}
	press(m, "2", "9", "esc")
	if m.View().Content != before {
		t.Errorf("hiding and showing again gives another screen:\n%s", ansi.Strip(m.View().Content))
	}
	if m.keep.Panes != nil {
		t.Errorf("remembered %+v of a screen as it was", m.keep.Panes)
	}
	press(m, "P")
	m.Update(tea.KeyPressMsg{Code: tea.KeyDown})
	press(m, "p")
	if r.Called() != nil {
		t.Errorf("keys went to the run: %q", r.Called())
	}
}

func TestTheListGivesAnyPaneTheScreen(t *testing.T) {
	m, _ := screen(t, 60, 15, Options{}, colorprofile.ANSI256, tuitest.Running())
	for id := range layout.Pane(len(Panes)) {
		m.lay(newChooser(&m.tiling, &m.answers, m.keys))
		over[*chooser](m).row = int(id)
		checkFrame(t, m, 60, 15)
		press(m, "enter")
		checkFrame(t, m, 60, 15)
		if m.focus != id || m.layout.Panes[id] != m.layout.Body() {
			t.Errorf("%s has %+v", deck.Panes[id].Name, m.layout.Panes[id])
		}
	}
	press(m, "esc", "esc")
	if m.zoomed || m.focus != layout.None {
		t.Errorf("zoomed %v, %d has the keys", m.zoomed, m.focus)
	}
}

// Tab on a zoomed screen reaches every wanted pane, even those that do not fit the terminal.
func TestTabLeadsToEveryPaneOfAZoomedScreen(t *testing.T) {
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running())
	arrange(m, "everything")
	press(m, "z")
	seen := map[layout.Pane]bool{}
	for range layout.Pane(len(Panes)) {
		seen[m.focus] = true
		m.Update(tab)
		checkFrame(t, m, 80, 24)
	}
	for id := range layout.Pane(len(Panes)) {
		if seen[id] == (id == idSettings || id == idAblation || id == idThroughput || id == idFootprint || id == idPhase ||
			id == idDiffraction || id == idSlices || id == idRaw || id == idTasks || id == idTaskLosses || id == idGPU || id == idProgress || id == idOutput || id == idRanks) {
			t.Errorf("tab leads to %s: %v", deck.Panes[id].Name, seen[id])
		}
	}
}

func TestTheLastPaneStays(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	arrange(m, "everything")
	for id := range layout.Pane(len(Panes)) {
		if !m.layout.Panes[id].Empty() || m.arranged(m.keep.choice(m.deck, "everything")).Wanted[id] {
			for range 2 { // the first shows it if it does not fit
				if !m.arranged(m.keep.choice(m.deck, "everything")).Panes[id].Empty() {
					showOrHide(m, id)
				}
			}
		}
	}
	if got := m.layout.Shown(); got != 1 {
		t.Errorf("%d panes are left: %v", got, m.layout.Panes)
	}
}

// If the focused pane is hidden, no pane has the focus.
func TestFocusGoesWithItsPane(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	arrange(m, "everything")
	m.setFocus(idKSpace)
	press(m, "w")
	if m.focus != layout.None {
		t.Errorf("%s has the keys in %s", deck.Panes[m.focus].Name, m.preset)
	}
	press(m, "w", "w", "w", "w")
	m.setFocus(idKSpace)
	showOrHide(m, idKSpace)
	if m.focus != layout.None {
		t.Error("a hidden pane has the keys")
	}
	m.setFocus(idMemory)
	press(m, "z")
	m.Update(tea.WindowSizeMsg{Width: 60, Height: 15})
	checkFrame(t, m, 60, 15)
	if m.focus != idMemory || !m.zoomed {
		t.Error("a smaller terminal unzooms")
	}
	press(m, "z")
	if m.focus != layout.None {
		t.Error("a pane without room has the keys")
	}
}

func TestPresetsGoRound(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	before := m.layout
	var names []string
	for range len(deck.Arrangements) - 2 { // without those of batches and of tasks
		press(m, "w")
		names = append(names, m.preset)
		for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}, {120, 40}} {
			m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			checkFrame(t, m, size[0], size[1])
		}
	}
	if got := strings.Join(names, " "); got != "everything timing quality memory overview" {
		t.Errorf("w goes %s", got)
	}
	if m.layout != before {
		t.Error("once round is not where it began")
	}
}

func clickOn(m *Model, x, y int) {
	m.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
}

func TestTheMouseGivesKeysAndTheScreen(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	arrange(m, "everything")
	if m.View().MouseMode != tea.MouseModeNone {
		t.Error("the mouse is on from the beginning")
	}
	press(m, "M")
	if m.View().MouseMode != tea.MouseModeCellMotion {
		t.Error("M leaves the mouse off")
	}
	loss := m.layout.Panes[idLoss]
	clickOn(m, loss.X+3, loss.Y+2)
	if m.focus != idLoss || m.zoomed {
		t.Errorf("a click: %d has the keys, zoomed %v", m.focus, m.zoomed)
	}
	clickOn(m, loss.X+3, loss.Y+2) // the clock of the test is stopped
	if !m.zoomed {
		t.Error("a double click does not zoom")
	}
	clickOn(m, 5, 1) // the title
	if m.zoomed {
		t.Error("a click on the title does not take the screen back")
	}
	clickOn(m, 0, 0)
	clickOn(m, 5, 39)
	if m.focus != idLoss {
		t.Error("a click on the header or the footer takes the keys")
	}
	press(m, "M")
	if m.View().MouseMode != tea.MouseModeNone {
		t.Error("M leaves the mouse on")
	}
}

// wheelPane is a pane that records what is pressed.
type wheelPane struct {
	pane.Pane
	pressed []string
}

func (p *wheelPane) Press(key string) bool { p.pressed = append(p.pressed, key); return true }

func TestTheWheelGoesToThePaneUnderIt(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	arrange(m, "everything")
	p := &wheelPane{Pane: m.panes[idLoss]}
	m.panes[idLoss] = p
	loss := m.layout.Panes[idLoss]
	m.Update(tea.MouseWheelMsg{X: loss.X + 1, Y: loss.Y + 1, Button: tea.MouseWheelUp})
	m.Update(tea.MouseWheelMsg{X: loss.X + 1, Y: loss.Y + 1, Button: tea.MouseWheelDown})
	m.Update(tea.MouseWheelMsg{X: 1, Y: 39, Button: tea.MouseWheelDown})
	if got := strings.Join(p.pressed, " "); got != "up down" {
		t.Errorf("the pane got %q", got)
	}
	small, _ := screen(t, 60, 15, Options{}, colorprofile.ANSI256, tuitest.Running())
	press(small, "?")
	small.Update(tea.MouseWheelMsg{X: 5, Y: 5, Button: tea.MouseWheelDown})
	if small.help.Above() != 1 {
		t.Error("the wheel does not scroll the help")
	}
}

// explained is a pane with an explanation.
type explained struct{ pane.Pane }

func (explained) Explain() []string {
	return []string{"Forward is the decoder's forward pass.", strings.Repeat("words and more words ", 60)}
}
func (explained) Hints() []pane.Hint {
	return []pane.Hint{{Key: "v", Does: "layers"}, {Key: "x", Does: "log scale"}}
}

func TestHelpExplainsThePaneThatHasTheKeys(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {120, 40}} {
		m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, tuitest.Running())
		m.panes[idPhases] = explained{m.panes[idPhases]}
		m.setFocus(idPhases)
		m.Update(snapshotMsg{tuitest.Running()})
		if frame := ansi.Strip(m.View().Content); !strings.Contains(frame, "v layers") || !strings.Contains(frame, "z zoom") {
			t.Errorf("%v: the footer does not name the pane's keys:\n%s", size, frame)
		}
		press(m, "?")
		checkFrame(t, m, size[0], size[1])
		if frame := ansi.Strip(m.View().Content); !strings.Contains(frame, "Forward is the decoder's forward pass.") {
			t.Errorf("%v: not explained:\n%s", size, frame)
		}
		for _, end := range []struct {
			key rune
			has string
		}{{tea.KeyEnd, "v layers"}, {tea.KeyHome, "Forward is"}, {tea.KeyPgDown, "words"}, {tea.KeyPgUp, "Forward is"}} {
			m.Update(tea.KeyPressMsg{Code: end.key})
			checkFrame(t, m, size[0], size[1])
			if frame := ansi.Strip(m.View().Content); !strings.Contains(frame, end.has) {
				t.Errorf("%v: the end of the help lacks %q:\n%s", size, end.has, frame)
			}
		}
		press(m, "?")
		if frame := ansi.Strip(m.View().Content); !strings.Contains(frame, "─ Keys ─") {
			t.Errorf("%v: the second ? does not list the keys", size)
		}
		press(m, "?")
		if m.help.page != noHelp {
			t.Error("the third ? does not close the help")
		}
	}
}

// The keys stay in place while the numbers, and the skipped frames, change.
func TestTheFooterStandsStill(t *testing.T) {
	a, b := tuitest.Running(), tuitest.Running()
	b.Rate, b.Index = 9.81, 12
	tuitest.Set(b, "measurement_cache", "false")
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		var keys [2]string
		for i, s := range []*profiles.Snapshot{a, b} {
			m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
			if i == 1 {
				m.skipped, m.skippedAt = 3, m.now()
				m.Update(snapshotMsg{s})
			}
			for _, word := range []string{"space", "? ", "q quit", "a AMP"} {
				keys[i] += columns(tuitest.Shown(tuitest.Cells(m.View().Content, size[0], size[1])), word)
			}
		}
		if keys[0] != keys[1] {
			t.Errorf("%v: the keys moved from %s to %s", size, keys[0], keys[1])
		}
	}
}

func TestEveryPaneExplainsItself(t *testing.T) {
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running())
	for id := range layout.Pane(len(Panes)) {
		m.focus, m.help.sheet = id, sheet{page: paneHelp}
		if len(m.panes[id].Explain()) == 0 {
			t.Errorf("%s does not explain itself", deck.Panes[id].Name)
		}
		m.Update(snapshotMsg{tuitest.Running()})
		checkFrame(t, m, 80, 24)
	}
}

// A pane's name and the reason why it is not shown do not touch.
func TestTheListOfPanesKeepsNamesApart(t *testing.T) {
	for _, s := range []*profiles.Snapshot{tuitest.Running(), tuitest.Trainer()} {
		m, _ := screen(t, 120, 60, Options{}, colorprofile.ANSI256, s)
		for id := range m.panes {
			m.without[id] = true
		}
		press(m, "P")
		text := ansi.Strip(strings.Join(over[*chooser](m).box(m.room()).Lines(m.theme), "\n"))
		for id := range m.panes {
			if name := m.paneName(layout.Pane(id)); !strings.Contains(text, name+" ") {
				t.Errorf("%s has no space behind it:\n%s", name, text)
			}
		}
	}
}
