package screen

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles/profilestest"
	"prismtop/tui/tuitest"
)

// If panes do not fit, the screen says so at every size, by name or by number, and only in one
// place.
func TestTheScreenSaysWhatIsHidden(t *testing.T) {
	profilestest.OneGoroutine(t)
	for _, size := range [][2]int{{60, 15}, {60, 24}, {80, 20}, {80, 24}, {100, 30}, {120, 40}, {200, 60}, {300, 100}} {
		for _, a := range deck.Arrangements {
			m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, tuitest.Running())
			m.preset = a.Name
			m.relay()
			m.Update(snapshotMsg{tuitest.Running()})
			frame, crowded := frameOf(m), m.layout.Crowded()
			says := strings.Contains(frame, " hidden") || strings.Contains(frame, "no room for "+m.paneNames(crowded))
			if says != (len(crowded) > 0) {
				t.Errorf("%s at %dx%d hides %q:\n%s", a.Name, size[0], size[1], m.paneNames(crowded), frame)
			}
			for _, said := range hiddenCount.FindAllStringSubmatch(frame, -1) {
				if said[1] != strconv.Itoa(len(crowded)) {
					t.Errorf("%s at %dx%d hides %d panes and says %q:\n%s", a.Name, size[0], size[1], len(crowded), said[0], frame)
				}
			}
			if foot := strings.Contains(footerOf(m), " hidden"); foot != (len(crowded) > 0) && size[0] > 60 {
				t.Errorf("%s at %dx%d hides %q and the footer says %s", a.Name, size[0], size[1], m.paneNames(crowded), footerOf(m))
			}
			m.cycleFocus(1)
			m.toggleZoom()
			m.Update(snapshotMsg{tuitest.Running()})
			if frame := frameOf(m); strings.Contains(frame, " hidden") {
				t.Errorf("%s at %dx%d zoomed:\n%s", a.Name, size[0], size[1], frame)
			}
		}
	}
}

var hiddenCount = regexp.MustCompile(`(\d+) (panes? )?hidden`)

// Panes hidden by the user count like those that do not fit, on the edge, in the footer and in
// the list.
func TestHiddenPanesAreCountedOnce(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	press(m, "P", "1", "3", "esc") // phases and caches
	want := m.layout.Unseen
	frame := frameOf(m)
	counts := hiddenCount.FindAllStringSubmatch(frame, -1)
	if len(counts) != 1 || counts[0][1] != strconv.Itoa(want) || want < 2 {
		t.Errorf("%d hidden, and the screen says %q:\n%s", want, counts, frame)
	}
	press(m, "P")
	if n := strings.Count(frameOf(m), "hidden") - len(hiddenCount.FindAllString(frameOf(m), -1)); n != want {
		t.Errorf("%d hidden, and the list marks %d:\n%s", want, n, frameOf(m))
	}
}

// A status is shown beside the keys if there is room, and covers them otherwise.
func TestAStatusLeavesTheKeysWhereThereIsRoom(t *testing.T) {
	for _, tt := range []struct {
		w    int
		keys bool
	}{{80, false}, {120, false}, {200, true}} {
		m, _ := screen(t, tt.w, 60, Options{}, colorprofile.ANSI256, tuitest.Running())
		press(m, "w")
		if got := lastLine(m); !strings.Contains(got, "panes: everything") || strings.Contains(got, "space pause") != tt.keys {
			t.Errorf("%d columns: %q", tt.w, got)
		}
	}
}
