package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/terminal"
	"prismtop/tui/tuitest"
)

func TestAFrameThatChangesNothingSendsNothing(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	var s terminal.Wire
	s.Synchronize()
	first := len(s.Frame(m.frame, 120, 40))
	if got := s.Frame(append([]string(nil), m.frame...), 120, 40); got != nil {
		t.Errorf("the same frame sends %q", got)
	}
	rows := append([]string(nil), m.frame...)
	for y := range rows {
		rows[y] = strings.Replace(rows[y], "0.812", "0.813", 1)
	}
	if got := s.Frame(rows, 120, 40); len(got) == 0 || len(got) > 60 {
		t.Errorf("a digit costs %d bytes of %d: %q", len(got), first, got)
	}
}

// BenchmarkFrame measures the output's share of a frame in which every pane has changed.
func BenchmarkFrame(b *testing.B) {
	m, _ := screen(b, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	one := append([]string(nil), m.frame...)
	m.Update(snapshotMsg{tuitest.Trainer()})
	other := append([]string(nil), m.frame...)
	var s terminal.Wire
	sent := 0
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			sent += len(s.Frame(one, 120, 40))
		} else {
			sent += len(s.Frame(other, 120, 40))
		}
	}
	b.ReportMetric(float64(sent)/float64(b.N), "B/frame")
}
