package tui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// What is typed first replaces the value that the editor begins with; keys that move or
// delete keep it.
func TestWhatIsTypedReplacesTheSelectedValue(t *testing.T) {
	for _, tt := range []struct {
		keys string
		want string
	}{
		{"5 0", "50"},
		{"left 5", "1050"}, // before the last digit
		{"right 5", "1005"},
		{"end 5", "1005"},
		{"home 5", "5100"},
		{"backspace 5", "105"},
		{"delete 7", "7"},
		{"home delete 2", "200"},
		{"home right right backspace", "10"},
		{"ctrl+u 3", "3"},
		{"5 left 6", "65"},
		{"tab f5 5", "5"}, // keys without a meaning here leave it selected
		{"left left left left 9", "9100"},
	} {
		in := newInput("100")
		for _, key := range strings.Fields(tt.keys) {
			in.press(key)
		}
		if got := in.value(); got != tt.want || in.selected {
			t.Errorf("%s: %q, want %q; selected %v", tt.keys, got, tt.want, in.selected)
		}
	}
	in := newInput("old.png")
	if in.paste("\x1b\n"); !in.selected || in.value() != "old.png" {
		t.Errorf("a paste of nothing left %+v", in)
	}
	if in.paste("/data/new\n.png"); in.value() != "/data/new.png" {
		t.Errorf("a paste made %q", in.value())
	}
	in.paste(strings.Repeat("x", 2*longestInput))
	if got := len(in.value()); got != longestInput {
		t.Errorf("%d bytes, want %d", got, longestInput)
	}
}

// The selected value stands in reverse, without colours too, and the footer has the
// editor's keys and no others.
func TestTheEditorShowsWhatTypingReplaces(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.ASCII, colorprofile.ANSI, colorprofile.ANSI256} {
		for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
			s := whole(t)
			set(s, "max_iterations", "100")
			m, r := screen(t, size[0], size[1], Options{}, profile, s)
			press(m, "Z")
			frame := m.View().Content
			if !strings.Contains(frame, "\x1b[7m100") || !strings.Contains(frame, "typing replaces it") && size[0] > 60 {
				t.Errorf("%v, %v: the value does not stand in reverse:\n%s", profile, size, frame)
			}
			for _, want := range []string{"enter sets", "esc leaves"} {
				if !strings.Contains(footerOf(m), want) {
					t.Errorf("%v: the footer lacks %q: %s", size, want, footerOf(m))
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
			if got := r.called(); !slices.Equal(got, []string{"Set max_iterations 50"}) {
				t.Errorf("called %q", got)
			}
			if !strings.Contains(footerOf(m), "select") && size[0] > 60 {
				t.Errorf("%v: the pane's keys are not back: %s", size, footerOf(m))
			}
		}
	}
}

// A value longer than its row shows the part about the cursor.
func TestALongValueFollowsTheCursor(t *testing.T) {
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, whole(t))
	press(m, ",")
	m.panes[idSettings].(*settingsView).Select("image")
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

// A key that opens the editor instead of doubling or halving says why.
func TestTheKeyOfAThresholdOfNeverSaysWhy(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}} {
		for _, key := range []string{"t", "T"} {
			s := bound(t)
			set(s, "threshold", "0")
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
