package screen

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/tuitest"
)

// watching returns a screen of a source without capabilities.
func watching(t *testing.T, w, h int, snaps ...*profiles.Snapshot) *Model {
	t.Helper()
	at := time.Unix(1e9, 0)
	m := New(make(tuitest.Spectacle), Options{Cores: 2, Settings: tuitest.Running().Settings, Now: func() time.Time { return at }})
	m.Update(tea.ColorProfileMsg{Profile: colorprofile.ANSI256})
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	for _, s := range snaps {
		m.Update(snapshotMsg{s})
	}
	if m.crash != nil {
		t.Fatal(m.crash)
	}
	return m
}

// deadKeys are the keys that need a capability.
var deadKeys = []string{"space", "n", "s", "d", "R", "A", ".", "u", "b", "1", "9", "D", "I", "U", "m", "f", "g", "a", "p", "l", "L", "+", "-", "T", "t", "y", "k", "G"}

// A source that can only be watched shows every pane; requests that it does not support have no
// key in the footer, the help or the hints, and pressing their keys changes nothing.
func TestASourceThatCanOnlyBeWatched(t *testing.T) {
	profilestest.OneGoroutine(t)
	for i, s := range []*profiles.Snapshot{tuitest.Running(), tuitest.Finished(), tuitest.Failed(), tuitest.Preparing()} {
		for j, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
			m := watching(t, size[0], size[1], s)
			checkFrame(t, m, size[0], size[1])
			for _, dead := range []string{" pause", " step", " save", " restart", " ablate", " undo"} {
				if foot := footerOf(m); strings.Contains(foot, dead) {
					t.Errorf("%v: the footer has %q: %s", size, dead, foot)
				}
			}
			for _, section := range ownSections {
				for _, r := range m.keys.Rows(section) {
					if slices.ContainsFunc(r.Keys, func(k string) bool { return slices.Contains(deadKeys, k) }) {
						t.Errorf("%q is listed: %s", r.Keys, r.Help)
					}
				}
			}
			for _, key := range deadKeys {
				m.Update(pressed(key))
				if m.crash != nil {
					t.Fatalf("%s: %v", key, m.crash)
				}
				if text := m.status.text; text != "" && !strings.Contains(text, "has no meaning here") {
					t.Errorf("%s says %q", key, text)
				}
			}
			for id := layout.Pane((i + j) % oneOf(4)); int(id) < len(Panes); id += layout.Pane(oneOf(4)) {
				m := watching(t, size[0], size[1], s)
				m.openPane(id)
				for _, key := range []string{"space", "left", "right", "enter", "v", "x", "down", "A", "R"} {
					m.Update(pressed(key))
					checkFrame(t, m, size[0], size[1])
				}
				if m.layout.Panes[id].Empty() && m.focus == id {
					t.Errorf("%v: %s is not shown", size, m.paneName(id))
				}
				for _, text := range append(m.panes[id].Explain(), frameOf(m)) {
					for _, promise := range []string{"R starts", "R restarts", "Press A", "press A", "A stops", "p remeasures", "switches it on", "times them"} {
						if strings.Contains(text, promise) {
							t.Errorf("%v, %s promises %q:\n%s", size, m.paneName(id), promise, text)
						}
					}
				}
			}
		}
	}
}

// Panes with requests show that the run does not support them.
func TestPanesSayWhatCannotBeAsked(t *testing.T) {
	s := tuitest.Running()
	s.Ablation, s.Effects, s.Changes = nil, nil, nil
	m := watching(t, 120, 40, s)
	for name, want := range map[string]string{
		"settings": "cannot be changed from here", "ablation": "none can be started from here", "effects": "none can be changed from here",
	} {
		m.openPane(m.deck.Find(name))
		m.zoomed = true
		m.relay()
		m.Update(snapshotMsg{s})
		if frame := strings.Join(strings.Fields(frameOf(m)), " "); !strings.Contains(frame, want) {
			t.Errorf("%s does not say %q:\n%s", name, want, frame)
		}
		m.closePane()
	}
	m.openPane(m.deck.Find("settings"))
	m.Update(pressed("right"))
	if want := "the settings of this run cannot be changed from here"; m.status.text != want {
		t.Errorf("right says %q, want %q", m.status.text, want)
	}
	if _, id := m.editor(); m.panes[id].(pane.Editor).Editing() {
		t.Error("a value is being written")
	}
}

// Such a screen ends nothing, so q does not ask.
func TestQLeavesARunThatCannotBeStopped(t *testing.T) {
	m := watching(t, 120, 40, tuitest.Running())
	if !press(m, "q") {
		t.Error("q does not quit")
	}
	for _, leave := range []string{"ctrl+c"} {
		if m := watching(t, 120, 40, tuitest.Running()); !press(m, leave) {
			t.Errorf("%s does not quit", leave)
		}
	}
}

// A run whose state cannot be written has no key for it.
func TestOnlyARunWithAStateIsWrittenToACheckpoint(t *testing.T) {
	s := tuitest.Running()
	s.Run.Able = s.Run.Able.Without(profiles.CheckpointCommand)
	m, r := screen(t, 200, 60, Options{}, colorprofile.ANSI256, s)
	press(m, "d")
	if len(r.Called()) > 0 || !strings.Contains(lastLine(m), "d has no meaning here") {
		t.Errorf("the run was asked %q; the footer says %q", r.Called(), lastLine(m))
	}
}

// A run with nothing to save has no key for it; the next run gets the key if it has a result.
func TestOnlyARunWithAResultIsSaved(t *testing.T) {
	s := tuitest.Running()
	s.Run.Able = s.Run.Able.Without(profiles.SaveCommand)
	s.State = profiles.Finished
	m, r := screen(t, 200, 60, Options{}, colorprofile.ANSI256, s)
	press(m, "s")
	if strings.Contains(footerOf(m), "s save") || len(r.Called()) > 0 {
		t.Errorf("it is offered to be saved, and was asked %q:\n%s", r.Called(), footerOf(m))
	}
	press(m, "R")
	if frame := frameOf(m); !strings.Contains(frame, "Restart?") || strings.Contains(frame, "save the picture") {
		t.Errorf("the question before a restart:\n%s", frame)
	}
	m, _ = screen(t, 200, 60, Options{}, colorprofile.ANSI256, s, tuitest.Finished())
	if !strings.Contains(footerOf(m), "s save") {
		t.Errorf("a run with a result cannot be saved:\n%s", footerOf(m))
	}
}

// A run that cannot be restarted, such as that of a program, promises no next run.
func TestARunWithoutARestartPromisesNone(t *testing.T) {
	s := *tuitest.Running()
	s.Run.Able = s.Run.Able.Without(profiles.RestartCommand)
	m, _ := screen(t, 120, 60, Options{Settings: s.Settings}, colorprofile.ANSI256, &s)
	press(m, ",")
	list := frameOf(m)
	press(m, "?")
	explained := frameOf(m)
	over := s
	over.State = profiles.Finished
	ended, _ := screen(t, 120, 60, Options{}, colorprofile.ANSI256, &over)
	if !strings.Contains(list, "Cannot change in this run") {
		t.Errorf("the settings:\n%s", list)
	}
	for _, text := range []string{list, explained, footerOf(ended)} {
		if strings.Contains(text, "next run") || strings.Contains(text, "restart") || strings.Contains(text, "AMP") && text == footerOf(ended) {
			t.Errorf("a next run is promised:\n%s", text)
		}
	}
}

// Units of work have the workload's name.
func TestUnitsAreCalledWhatTheyAre(t *testing.T) {
	s := plainRun()
	s.Run.Units, s.Unit = 40, 3
	m, _ := screen(t, 200, 60, Options{}, colorprofile.ANSI256, s)
	arrange(m, "everything")
	if frame := frameOf(m); !strings.Contains(frame, " Epochs ") || !strings.Contains(frame, "epoch  4/40") || strings.Contains(frame, "ample") {
		t.Errorf("the epochs of a run:\n%s", frame)
	}
	m.openPane(idSamples)
	press(m, "?")
	if frame := frameOf(m); !strings.Contains(frame, "epochs") || strings.Contains(frame, "aperture") {
		t.Errorf("the pane explains itself as\n%s", frame)
	}
}

// A pane that no arrangement places is shown where it joins, below the others.
func TestAPaneIsOneSpec(t *testing.T) {
	profilestest.OneGoroutine(t)
	extra := pane.Log
	extra.Name, extra.Joins = "another", []string{"everything", "timing"}
	s := tuitest.Running()
	for _, name := range []string{"everything", "timing", "quality"} {
		r := tuitest.NewRecorder()
		m := New(r, Options{Cores: 2, Settings: s.Settings, Panes: append(slices.Clone(Panes), extra)})
		m.Update(tea.WindowSizeMsg{Width: 200, Height: 80})
		m.Update(snapshotMsg{s})
		m.preset = name
		m.relay()
		id := m.deck.Find("another")
		if there := !m.layout.Panes[id].Empty(); there != (name != "quality") {
			t.Errorf("%s: it is there: %v", name, there)
		}
		if err := m.layout.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Without a pane, its name in an arrangement is ignored.
	for i := range Panes {
		m := New(tuitest.NewRecorder(), Options{Cores: 2, Settings: s.Settings, Panes: slices.Delete(slices.Clone(Panes), i, i+1)})
		m.Update(tea.ColorProfileMsg{Profile: colorprofile.ANSI256})
		m.Update(tea.WindowSizeMsg{Width: 160, Height: 50})
		m.Update(snapshotMsg{s})
		for range m.deck.Arrangements {
			checkFrame(t, m, 160, 50)
			if err := m.layout.Check(); err != nil {
				t.Errorf("without %s, %s: %v", Panes[i].Name, m.preset, err)
			}
			press(m, "w")
		}
		for _, key := range []string{",", "A", ".", "P", "esc", "T", "enter", "?", "esc"} {
			press(m, key)
			checkFrame(t, m, 160, 50)
		}
	}
}
