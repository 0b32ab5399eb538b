package screen

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/lines"
	"prismtop/tui/tuitest"
)

func TestTheLossWhileInitialisingHasOneName(t *testing.T) {
	s := tuitest.Running()
	s.Kind, s.Unit, s.Series[prism.SeriesLossOld] = prism.KindInitialisation, -1, profiles.SeriesView{Latest: math.NaN()}
	tuitest.Latest(s, prism.SeriesLossNew, 0.5497)
	m, _ := screen(t, 200, 60, Options{}, colorprofile.ANSI256, s)
	frame := ansi.Strip(m.View().Content)
	for where, got := range map[string]string{"screen": frame, "summary": lines.SummaryWithin(s, 0), "line": lines.Progress(s)} {
		if !strings.Contains(got, "5.497e-01") || strings.Contains(got, "start 5") || strings.Contains(got, "new 5") || strings.Contains(got, "old –") {
			t.Errorf("%s:\n%s", where, got)
		}
	}
	if !strings.Contains(frame, " loss 5.497e-01 ") {
		t.Errorf("the title does not call it the loss:\n%s", frame)
	}
}
