package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/tui/chart"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

func TestAFrameThatChangesNothingSendsNothing(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	var s terminal.Wire
	s.Synchronize()
	first := len(s.Frame(&m.frame, m.theme))
	if got := s.Frame(copied(&m.frame), m.theme); got != nil {
		t.Errorf("the same frame sends %q", got)
	}
	for y, line := range strings.Split(ansi.Strip(m.View().Content), "\n") {
		if before, _, found := strings.Cut(line, "0.812"); found {
			m.frame.Set(chart.Width(before+"0.81"), y, '3', theme.Strong)
		}
	}
	if got := s.Frame(&m.frame, m.theme); len(got) == 0 || len(got) > 60 {
		t.Errorf("a digit costs %d bytes of %d: %q", len(got), first, got)
	}
}

// copied returns a copy of a frame.
func copied(frame *chart.Canvas) *chart.Canvas {
	var c chart.Canvas
	c.Resize(frame.Size())
	c.Lay(frame, 0, 0)
	return &c
}

// BenchmarkFrame measures the output's share of a frame in which every pane has changed.
func BenchmarkFrame(b *testing.B) {
	m, _ := screen(b, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	one := copied(&m.frame)
	m.Update(snapshotMsg{tuitest.Trainer()})
	other := copied(&m.frame)
	var s terminal.Wire
	sent := 0
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			sent += len(s.Frame(one, m.theme))
		} else {
			sent += len(s.Frame(other, m.theme))
		}
	}
	b.ReportMetric(float64(sent)/float64(b.N), "B/frame")
}
