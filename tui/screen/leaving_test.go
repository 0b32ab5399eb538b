package screen

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles/profilestest"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// ctrl+c ends the run from wherever a key or two lead: every list, field, question, sheet and prompt, over every focused pane, on a
// terminal that is too small and while a suspension waits for the run.
func TestCtrlCEndsTheRunFromEverywhere(t *testing.T) {
	profilestest.OneGoroutine(t)
	fresh := func() (*Model, *tuitest.Recorder) {
		m, r := screen(t, 80, 24, Options{}, colorprofile.ANSI256, whole(t))
		return m, r
	}
	seen := map[string]bool{}
	ends := func(m *Model, r *tuitest.Recorder, where string) {
		t.Helper()
		if over := m.top(); over != nil {
			seen[fmt.Sprintf("%T", over)] = true
		}
		seen["a search"] = seen["a search"] || m.help.find != nil
		seen["a value in the settings pane"] = seen["a value in the settings pane"] || m.editing()
		seen["a bookmark's digit"] = seen["a bookmark's digit"] || m.bookmarks.storing
		seen[fmt.Sprintf("sheet %d", m.help.page)] = true
		if quits := press(m, "ctrl+c"); !quits || !m.interrupted || !slices.Contains(r.Called(), "Stop") {
			t.Fatalf("%s: ctrl+c does not end the run:\n%s", where, frameOf(m))
		}
	}
	m, _ := fresh()
	var all []string
	for _, section := range ownSections {
		for _, row := range m.keys.Rows(section) {
			if row.Action != "interrupt" {
				all = append(all, row.Keys...)
			}
		}
	}
	for i, key := range all {
		for j, then := range [][]string{nil, {"a"}, {"7"}, {"enter"}, {"?"}, {"/", "x"}} {
			if then != nil && then[0] != "?" && (i+j)%oneOf(3) != 0 {
				continue
			}
			m, r := fresh()
			if press(m, append([]string{key}, then...)...) {
				continue // left already
			}
			ends(m, r, fmt.Sprint(key, then))
		}
	}
	for id := range m.panes {
		for j, then := range [][]string{nil, {"z"}, {"?"}, {"enter"}, {"down"}, {"right"}, {"Z"}, {"/"}, {"q"}} {
			if layout.Pane(id) != idSettings && (id+j)%oneOf(3) != 0 {
				continue
			}
			m, r := fresh()
			m.setFocus(layout.Pane(id))
			settingsIn(m).Select("max_iterations")
			for _, k := range then {
				m.Update(named(k))
			}
			ends(m, r, fmt.Sprint(m.paneName(layout.Pane(id)), then))
		}
	}
	for _, opens := range []string{"/", "Z", "q", "R", "?", "b"} {
		m, r := fresh()
		press(m, opens)
		m.Update(tea.WindowSizeMsg{Width: 30, Height: 5})
		ends(m, r, opens+" on a small terminal")
		m, r = fresh()
		press(m, opens)
		m.suspension.sleep = fallingAsleep
		ends(m, r, opens+" while a suspension waits")
	}
	want := []string{"*screen.chooser", "*screen.comparing", "*screen.exporting", "*screen.restarting", "*screen.typing", "*screen.valueList",
		"screen.noting", "screen.quitting", "a search", "a value in the settings pane", "a bookmark's digit", "sheet 0", "sheet 1", "sheet 2", "sheet 3"}
	for _, one := range want {
		if !seen[one] {
			t.Errorf("no key led to %s, only to %q", one, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// ctrl+l and ctrl+z pass a search, too, which keeps its words.
func TestASearchLeavesControlKeysToTheScreen(t *testing.T) {
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, whole(t))
	press(m, "/", "l", "o")
	_, redraws := m.Update(pressed("ctrl+l"))
	if redraws == nil || m.help.find == nil || m.help.find.Value() != "lo" {
		t.Errorf("ctrl+l in a search:\n%s", frameOf(m))
	}
}
