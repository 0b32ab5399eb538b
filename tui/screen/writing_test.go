package screen

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// The selected value is shown in reverse, even without colours, and the footer shows only the
// editor's keys.
func TestTheEditorShowsWhatTypingReplaces(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256} {
		for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
			s := whole(t)
			tuitest.Set(s, "max_iterations", "100")
			m, r := screen(t, size[0], size[1], Options{}, profile, s)
			press(m, "Z")
			frame := m.View().Content
			if !strings.Contains(frame, "\x1b[7m100") || !strings.Contains(frame, "typing replaces it") && size[0] > 60 {
				t.Errorf("%v, %v: the value does not stand in reverse:\n%s", profile, size, frame)
			}
			for _, want := range []string{"enter sets", "esc leaves"} {
				if !strings.Contains(frameOf(m), want) {
					t.Errorf("%v: the screen lacks %q: %s", size, want, footerOf(m))
				}
			}
			for _, gone := range []string{"↑ ↓", "zoom", "explain", "pause", "ablation", ", close"} {
				if strings.Contains(footerOf(m), gone) {
					t.Errorf("%v: the footer offers %q, which would be written: %s", size, gone, footerOf(m))
				}
			}
			press(m, "5", "0")
			if strings.Contains(m.View().Content, "\x1b[7m") {
				t.Errorf("%v: still selected:\n%s", size, frameOf(m))
			}
			press(m, "enter")
			if got := r.Called(); !slices.Equal(got, []string{"Set max_iterations 50"}) {
				t.Errorf("called %q", got)
			}
			if m.focus != layout.None || lies[*typing](m) {
				t.Errorf("%v: enter does not lead back: %s", size, footerOf(m))
			}
		}
	}
}

// A value longer than its row shows the part around the cursor.
func TestALongValueFollowsTheCursor(t *testing.T) {
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, whole(t))
	press(m, ",")
	settingsIn(m).Select("image")
	press(m, "enter")
	m.Update(tea.PasteMsg{Content: "/first" + strings.Repeat("/long", 40) + "/last"})
	if frame := frameOf(m); !strings.Contains(frame, "/long/last_") || strings.Contains(frame, "/first") {
		t.Errorf("the end is not seen:\n%s", frame)
	}
	press(m, "home", "delete")
	if frame := frameOf(m); !strings.Contains(frame, "image = first/long") || strings.Contains(frame, "last") {
		t.Errorf("the beginning is not seen:\n%s", frame)
	}
}

// A key that opens the editor instead of doubling or halving explains why.
func TestTheKeyOfAThresholdOfNeverSaysWhy(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}} {
		for _, key := range []string{"t", "T"} {
			s := bound(t)
			tuitest.Set(s, "threshold", "0")
			m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
			press(m, key)
			if footer := footerOf(m); !strings.Contains(footer, "threshold is off: type one") {
				t.Errorf("%v: %s says %s", size, key, footer)
			}
			s = bound(t)
			m, _ = screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
			press(m, "k")
			obeyed(m, s)
			press(m, key)
			if footer := footerOf(m); !strings.Contains(footer, "threshold is suspended: type one") {
				t.Errorf("%v: %s of a suspended one says %s", size, key, footer)
			}
		}
	}
}
