package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// shows is all that a terminal shows, styles included as far as they are seen.
func shows(e *vt.Emulator) string {
	var s strings.Builder
	for y := range e.Height() {
		for x := range e.Width() {
			c := e.CellAt(x, y)
			if c == nil || c.Content == "" {
				s.WriteString(" ")
				continue
			}
			style := c.Style
			if c.Content == " " { // nobody sees its other colours
				style = uv.Style{Bg: style.Bg}
			}
			fmt.Fprintf(&s, "%s%s", style.String(), c.Content)
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// What a terminal shows after a row of frames is what it shows when the last one
// is painted on an empty screen.
func TestFramesByDifferencesAreFramesFromScratch(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	steps := 300
	if testing.Short() {
		steps = 60
	}
	keys := []string{"?", "esc", "z", "w", "v", "x", ",", "up", "down", "C", "q", "n", "P"}
	for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256, colorprofile.ANSI, colorprofile.ASCII} {
		m, _ := screen(t, 80, 24, Options{}, profile, running())
		var s wire
		terminal := vt.NewEmulator(80, 24)
		w, h := 80, 24
		for step := range steps {
			switch random.IntN(4) {
			case 0:
				m.Update(snapshotMsg{states[random.IntN(len(states))]()})
			case 1:
				m.Update(pressed(keys[random.IntN(len(keys))]))
			case 2:
				m.Update(tea.KeyPressMsg{Code: tea.KeyTab})
			default:
				if random.IntN(8) == 0 {
					w, h = 20+random.IntN(140), 5+random.IntN(45)
					m.Update(tea.WindowSizeMsg{Width: w, Height: h})
					terminal.Resize(w, h)
				}
			}
			if _, err := terminal.Write(s.frame(m.rows, w, h)); err != nil {
				t.Fatal(err)
			}
			fresh := vt.NewEmulator(w, h)
			var again wire
			if _, err := fresh.Write(again.frame(m.rows, w, h)); err != nil {
				t.Fatal(err)
			}
			if got, want := shows(terminal), shows(fresh); got != want {
				t.Fatalf("step %d, %dx%d: by differences\n%s\nfrom scratch\n%s", step, w, h, got, want)
			}
			if got, want := strings.TrimRight(terminal.String(), "\n "), strings.TrimRight(shown(cells(join(m.rows), w, h)), "\n "); flat(got) != flat(want) {
				t.Fatalf("step %d, %dx%d: the terminal shows\n%s\nthe frame is\n%s", step, w, h, got, want)
			}
		}
	}
}

// flat is text without the spaces at the ends of lines.
func flat(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

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
