package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// plainRun returns a run of a workload with one phase and one loss: without a telescope,
// pictures, caches, metrics or units of work.
func plainRun() *profiles.Snapshot {
	s := tuitest.Running()
	s.Run.Schema = profiles.Schema{
		Workload: "plain", Stages: []string{"fitting"}, Kinds: []profiles.KindInfo{{Name: "fit", Units: true}},
		Unit:   profiles.Unit{One: "epoch", Many: "epochs"},
		Phases: []profiles.PhaseInfo{{Name: "fit"}},
		Series: []profiles.SeriesInfo{{Name: "loss", Title: "loss", Group: profiles.Losses, Each: true}},
	}
	s.Run.Able = s.Run.Able.Without(profiles.ClearCommand)
	s.Kind, s.Run.Units, s.Run.Sampling = 0, 0, nil
	return s
}

// A pane that does not apply to the workload is in no arrangement: it takes no space, is not
// counted as hidden, and cannot be shown.
func TestPanesThatARunHasNothingForAreNotThere(t *testing.T) {
	gone := []layout.Pane{idPicture, idPhase, idKSpace, idCaches, idQuality, idSamples, idThroughput, idFootprint, idDiffraction, idSlices, idRaw, idTasks, idTaskLosses, idGPU, idOutput, idRanks}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		for i := range deck.Arrangements {
			m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, plainRun())
			m.preset = deck.Arrangements[i].Name
			m.relay()
			for _, id := range gone {
				if !m.layout.Panes[id].Empty() || m.layout.Wanted[id] || m.layout.Put[id] {
					t.Errorf("%dx%d, %s: %s is there, or missed", size[0], size[1], m.preset, deck.Panes[id].Name)
				}
			}
			if m.layout.Shown() == 0 {
				t.Errorf("%dx%d, %s: no pane is left", size[0], size[1], m.preset)
			}
		}
	}
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, plainRun())
	press(m, "P")
	if text := ansi.Strip(m.View().Content); strings.Count(text, "not in this run") != len(gone) {
		t.Errorf("the list of panes does not say which have nothing to show:\n%s", text)
	}
	showOrHide(m, idKSpace)
	if m.layout.Wanted[idKSpace] || !strings.Contains(m.status.text, "this run has no data for k-space") {
		t.Errorf("k-space was asked for: %q", m.status.text)
	}
	// They are back for the next run, of another workload.
	m.Update(snapshotMsg{tuitest.Running()})
	if m.layout.Panes[idKSpace].Empty() {
		t.Error("k-space does not come back")
	}
}
