package screen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/sim/prism"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// rich returns a run with everything that panes can show.
func rich(t testing.TB) *profiles.Snapshot {
	s, l, a := tuitest.Eventful(), tuitest.Layered(), ablated(t, true)
	s.Layers, s.Roofs, s.Recent, s.Trends, s.Clock = l.Layers, l.Roofs, l.Recent, l.Trends, l.Clock
	tuitest.Set(s, "layer_profile", "true")
	s.Ablation = a.Ablation
	return s
}

// everyScreen draws every arrangement, and every pane among others and zoomed, in every view, for
// runs in every state, and passes each frame to see.
func everyScreen(t *testing.T, w, h int, see func(where, frame string)) {
	t.Helper()
	runs := map[string]*profiles.Snapshot{
		"rich": rich(t), "eventful": tuitest.Eventful(), "layered": tuitest.Layered(), "preparing": tuitest.Preparing(), "finished": tuitest.Finished(),
		"failed": tuitest.Failed(), "trainer": tuitest.Trainer(), "busy": tuitest.Busy(), "ablated": ablated(t, false), "whole": whole(t),
		"combined": combined(t, 24, true, false, "default"),
	}
	for name, s := range runs {
		draw := func(m *Model, where string) {
			m.help.sheet, m.stale = sheet{}, true
			m.Update(snapshotMsg{s})
			m.help.sheet, m.stale = sheet{}, true
			m.Update(snapshotMsg{s})
			see(name+" "+where, frameOf(m))
		}
		for i := range deck.Arrangements {
			m, _ := screen(t, w, h, Options{}, colorprofile.ANSI256, s)
			m.preset = deck.Arrangements[i].Name
			m.relay()
			draw(m, m.preset)
			for id := range layout.Pane(len(Panes)) {
				if m.layout.Panes[id].Empty() {
					continue
				}
				m.setFocus(id)
				for v := range 4 {
					m.panes[id].Press("v")
					draw(m, fmt.Sprint(m.preset, ", ", deck.Panes[id].Name, " ", v))
				}
			}
		}
		for id := range layout.Pane(len(Panes)) {
			m := zoomed(t, w, h, id, s)
			for v := range 4 {
				draw(m, fmt.Sprint(deck.Panes[id].Name, " alone ", v))
				m.panes[id].Press("v")
			}
		}
	}
}

// A large screen has room for all text: nothing is cut in any pane, view or state.
func TestALargeScreenCutsNoText(t *testing.T) {
	profilestest.OneGoroutine(t)
	seen := map[string]bool{}
	everyScreen(t, 200, 60, func(where, frame string) {
		for _, line := range strings.Split(frame, "\n") {
			for _, part := range strings.Split(line, "││") {
				if strings.Contains(part, "…") && !strings.Contains(part, "timing the layers …") && !seen[part] {
					seen[part] = true
					t.Errorf("%s: %s", where, strings.TrimSpace(part))
				}
			}
		}
	})
}

// A large screen shows all of an effect: medians, numbers of iterations, PSNR, interval and
// forest plot, even among all other panes.
func TestALargeScreenShowsAllOfEffects(t *testing.T) {
	for _, name := range []string{"everything", "timing", "memory"} {
		m, _ := screen(t, 200, 60, Options{}, colorprofile.ANSI256)
		m.preset = name
		m.relay()
		m.Update(snapshotMsg{tuitest.Eventful()})
		frame := frameOf(m)
		for _, want := range []string{"newest first", "ms before   after", "95 % interval", "n before  after", "memory", "dB change", "after against before", "−50 % ─"} {
			if !strings.Contains(frame, want) {
				t.Errorf("in %s effects lack %q:\n%s", name, want, frame)
			}
		}
	}
	frame := frameOf(zoomed(t, 200, 60, idEffects, tuitest.Eventful(), "down"))
	for _, want := range []string{"iteration  ms before   after", "ms about iteration 2410; ╌ the median before it"} {
		if !strings.Contains(frame, want) {
			t.Errorf("alone effects lack %q:\n%s", want, frame)
		}
	}
	if empty := emptyRows(frame); empty > 12 {
		t.Errorf("%d rows are empty:\n%s", empty, frame)
	}
}

func TestALargeScreenShowsAllOfAnAblation(t *testing.T) {
	frame := frameOf(zoomed(t, 200, 60, idAblation, ablated(t, true)))
	for _, want := range []string{"on against off", "medians of an iteration in ms", "Each setting is switched off and on", "then return to your values"} {
		if !strings.Contains(frame, want) {
			t.Errorf("the ablation lacks %q:\n%s", want, frame)
		}
	}
	if empty := emptyRows(frame); empty > 24 { // the bars are a row apart
		t.Errorf("%d rows are empty:\n%s", empty, frame)
	}
}

// emptyRows returns the number of empty rows of a zoomed pane.
func emptyRows(frame string) (n int) {
	for _, line := range strings.Split(frame, "\n") {
		if strings.Trim(line, "│ ") == "" {
			n++
		}
	}
	return n
}

// The last column of effects is the change of the run's quality in that quality's digits. A run without one has no such
// column, and nothing is said of it.
func TestEffectsHaveTheQualityOfTheRun(t *testing.T) {
	shown := func(change func(*profiles.Snapshot)) string {
		s := *tuitest.Eventful()
		s.Run.Schema.Series = slices.Clone(s.Run.Schema.Series)
		s.Effects = slices.Clone(s.Effects)
		change(&s)
		return frameOf(zoomed(t, 200, 60, idEffects, &s, "down"))
	}
	accuracy := shown(func(s *profiles.Snapshot) {
		q := &s.Run.Schema.Series[prism.SeriesPSNR]
		q.Title, q.Unit = "acc", ""
		for i := range s.Effects {
			s.Effects[i].QualityDrift, s.Effects[i].HasQuality = 0.00123, true
		}
	})
	none := shown(func(s *profiles.Snapshot) {
		s.Run.Schema.Quality = ""
		for i := range s.Effects {
			s.Effects[i].HasQuality = false
		}
	})
	if !strings.Contains(accuracy, "   memory acc change  time") || !strings.Contains(accuracy, " +0.00123 ") {
		t.Errorf("of an accuracy, effects are\n%s", accuracy)
	}
	if !strings.Contains(none, " after     memory  time of") || strings.Contains(none, "Quality") {
		t.Errorf("without a quality, effects are\n%s", none)
	}
}
