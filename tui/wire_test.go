package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

func TestAFrameThatChangesNothingSendsNothing(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, running())
	var s wire
	s.sync = true
	first := len(s.frame(m.rows, 120, 40))
	if got := s.frame(append([]string(nil), m.rows...), 120, 40); got != nil {
		t.Errorf("the same frame sends %q", got)
	}
	rows := append([]string(nil), m.rows...)
	for y := range rows {
		rows[y] = strings.Replace(rows[y], "0.812", "0.813", 1)
	}
	if got := s.frame(rows, 120, 40); len(got) == 0 || len(got) > 60 {
		t.Errorf("a digit costs %d bytes of %d: %q", len(got), first, got)
	}
}

// Beside the places of a picture only the cells that differ are sent, unless nobody
// knows how wide the terminal makes them: then the row is sent whole.
func TestRowsWithPlacesAreSentWholeWhereTheirWidthIsNotKnown(t *testing.T) {
	var c chart.Canvas
	c.Resize(40, 1)
	for x := range 10 {
		c.Placeholder(5+x, 0, x, 0, theme.Image(20))
	}
	colours := theme.New(colorprofile.ANSI256, true, false)
	row := func(text string) []string {
		c.Text(20, 0, text, theme.Plain)
		return append([]string(nil), c.Lines(colours)...)
	}
	for _, sure := range []bool{true, false} {
		s := wire{places: sure}
		s.frame(row("12.3 ms"), 40, 1)
		got := string(s.frame(row("12.4 ms"), 40, 1))
		if whole := strings.Count(got, placeholder) == 10; whole == sure || !strings.Contains(got, "4") {
			t.Errorf("places known %v: a digit beside them sends %q", sure, got)
		}
	}
}

// BenchmarkFrame is what the output adds to a frame in which every pane changed.
func BenchmarkFrame(b *testing.B) {
	m, _ := screen(b, 120, 40, Options{}, colorprofile.ANSI256, running())
	one := append([]string(nil), m.rows...)
	m.Update(snapshotMsg{trainer()})
	other := append([]string(nil), m.rows...)
	var s wire
	sent := 0
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			sent += len(s.frame(one, 120, 40))
		} else {
			sent += len(s.frame(other, 120, 40))
		}
	}
	b.ReportMetric(float64(sent)/float64(b.N), "B/frame")
}
