package screen

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/tui/lines"
	"prismtop/tui/tuitest"
)

// Panes of a run that a limit ended in the middle of a sample.
func TestGoldenScreensOfARunThatIsOver(t *testing.T) {
	goldenSizes(t, "phases-over", idPhases, tuitest.OverAfter300())
	goldenSizes(t, "k-space-over", idKSpace, tuitest.OverAfter300())
}

// No pane of a run that is over announces anything to come.
func TestPanesOfARunThatIsOverPromiseNothing(t *testing.T) {
	profilestest.OneGoroutine(t)
	bare := func() *profiles.Snapshot {
		s := tuitest.Preparing()
		s.State, s.Err = profiles.Failed, "the picture cannot be read"
		return s
	}
	ablated := tuitest.OverAfter300()
	ablated.Ablation = tuitest.AblationWith("amp", 2)
	snaps := []*profiles.Snapshot{bare(), tuitest.OverAfter300(), tuitest.Finished(), tuitest.Failed(), ablated}
	stopped := tuitest.OverAfter300()
	stopped.State = profiles.Stopped
	snaps = append(snaps, stopped)
	promises := []string{" yet", "press A", "more are needed", "more of the run", "○ next", "⣿ now", "A compares"}
	needs, training := regexp.MustCompile(`needs \d+ more`), regexp.MustCompile(`\d+ +training`)
	for i, s := range snaps {
		m, _ := screen(t, 200, 60, Options{}, colorprofile.ANSI256, s)
		for id := range deck.Panes {
			p := m.panes[id]
			for _, size := range [][2]int{{38, 11}, {80, 24}, {200, 60}} {
				for range 4 {
					p.SetSize(size[0], size[1])
					view := tuitest.Shown(tuitest.Cells(strings.Join(tuitest.Lines(p), "\n"), size[0], size[1]))
					if m := needs.FindString(view) + training.FindString(view); m != "" {
						t.Errorf("run %d, %s at %v: %q\n%s", i, deck.Panes[id].Name, size, m, view)
					}
					for _, promise := range promises {
						if strings.Contains(view, promise) {
							t.Errorf("run %d, %s at %v: %q\n%s", i, deck.Panes[id].Name, size, promise, view)
						}
					}
					if !p.Press("v") {
						break
					}
				}
			}
		}
	}
}

// The summary names the limit that ended a run before its last sample.
func TestTheSummaryNamesTheLimit(t *testing.T) {
	s := tuitest.OverAfter300()
	s.EndedBy = "max_iterations = 300"
	if text := lines.SummaryWithin(s, 0); !strings.Contains(text, "finished by max_iterations = 300 after") {
		t.Errorf("the summary:\n%s", text)
	}
}
