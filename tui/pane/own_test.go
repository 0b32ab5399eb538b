package pane

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/tui/lines"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

// Without a threshold in force a sample cannot fail: it is done.
func TestSamplesWithoutAThresholdAreDone(t *testing.T) {
	s := tuitest.Running()
	s.Results = nil
	for i := range int32(3) {
		s.Results = append(s.Results, profiles.UnitResult{Unit: i, Iterations: 200, Elapsed: time.Second})
	}
	p := newUnits()
	p.SetTheme(theme.New(colorprofile.ANSI256, true, false))
	p.SetSize(80, 10)
	p.Update(s)
	text := ansi.Strip(strings.Join(tuitest.Lines(p), "\n"))
	if strings.Contains(text, "limit") || strings.Contains(text, "converged") || strings.Count(text, "done") != 3 {
		t.Errorf("three samples without a threshold:\n%s", text)
	}
	if text := lines.SummaryWithin(s, 0); strings.Contains(text, "converged") {
		t.Errorf("the summary counts what cannot be:\n%s", text)
	}
}

// Further passes look up the same measurements, so only the first pass cannot hit.
func TestTheMeasurementCacheHitsFromTheSecondPassOn(t *testing.T) {
	s := tuitest.Trainer()
	s.Run.Passes = 3
	if why := newCaches(tuitest.Host{}).whyNoHits(s); !strings.Contains(why, "once a pass") {
		t.Errorf("in the first pass: %q", why)
	}
	if full := tuitest.Shown(tuitest.Cells(func() string {
		p := newCaches(tuitest.Host{})
		p.SetTheme(theme.New(colorprofile.ANSI256, true, false))
		p.SetSize(120, 40)
		p.Update(s)
		return strings.Join(tuitest.Lines(p), "\n")
	}(), 120, 40)); !strings.Contains(full, "further passes hit") {
		t.Errorf("why:\n%s", full)
	}
	s.Unit += s.Run.Units
	if why := newCaches(tuitest.Host{}).whyNoHits(s); why != "" {
		t.Errorf("in the second pass: %q", why)
	}
}

// A sample of a further pass keeps its place in the pattern.
func TestCentresFollowPasses(t *testing.T) {
	s := tuitest.Running()
	s.Run.Passes, s.Unit = 3, s.Run.Units+4
	if got, want := centre(s, s.Unit), centre(s, 4); got != want || got == "–" {
		t.Errorf("the centre of sample %d is %s, want %s", s.Unit, got, want)
	}
}
