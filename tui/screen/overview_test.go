package screen

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// number matches a number on the screen.
var number = regexp.MustCompile(`\b\d[\d.,]*(e[+-]?\d+)?`)

// The first screen shows what an imager came for in few numbers, and has room for all of it but k-space at 80x24.
func TestTheFirstScreenIsCalm(t *testing.T) {
	for _, tt := range []struct {
		w, h, most int
		lacks      []layout.Pane
	}{{80, 24, 60, []layout.Pane{idKSpace}}, {120, 40, 75, nil}, {200, 60, 85, nil}} {
		m, _ := screen(t, tt.w, tt.h, Options{}, colorprofile.ANSI256, tuitest.Running())
		frame := frameOf(m)
		if n := len(number.FindAllString(frame, -1)); n > tt.most {
			t.Errorf("%dx%d: %d numbers, more than %d:\n%s", tt.w, tt.h, n, tt.most, frame)
		}
		for _, id := range []layout.Pane{idPicture, idPhases, idEffects, idProgress, idCaches, idMemory, idKSpace} {
			if lacking := strings.Contains(deck.Panes[id].Name, "k-space") && len(tt.lacks) > 0; m.layout.Panes[id].Empty() != lacking {
				t.Errorf("%dx%d: %s is at %+v", tt.w, tt.h, deck.Panes[id].Name, m.layout.Panes[id])
			}
		}
		if r := m.layout.Panes[idPicture]; r.W < tt.w/2 {
			t.Errorf("%dx%d: the pictures have %+v", tt.w, tt.h, r)
		}
		if r := m.layout.Panes[idMemory]; r.H != 5 {
			t.Errorf("%dx%d: memory has %+v, not three lines", tt.w, tt.h, r)
		}
		for _, want := range []string{"GPU", "host", "caches"} {
			if !strings.Contains(strings.Join(tuitest.Lines(m.panes[idMemory]), "\n"), want) {
				t.Errorf("%dx%d: memory lacks %q", tt.w, tt.h, want)
			}
		}
	}
}

// A pane that a workload has no data for leaves its room to the others.
func TestTheFirstScreenOfAWorkloadWithoutPictures(t *testing.T) {
	s := plainRun()
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
		checkFrame(t, m, size[0], size[1])
		for _, id := range []layout.Pane{idPicture, idKSpace, idCaches} {
			if r := m.layout.Panes[id]; !r.Empty() {
				t.Errorf("%v: %s has %+v", size, deck.Panes[id].Name, r)
			}
		}
		if name := m.paneName(idProgress); name != "loss" {
			t.Errorf("the chart of a run without metrics is called %q", name)
		}
		if err := m.layout.Check(); err != nil {
			t.Error(err)
		}
	}
}
