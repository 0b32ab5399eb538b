package screen

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"

	"prismtop/tui/layout"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

// inked returns the contents of a terminal: every row's text, and below it the columns where the
// style changes, with the parameters of the new one.
func inked(b uv.ScreenBuffer) string {
	var s strings.Builder
	for y, row := range strings.Split(strings.TrimSuffix(tuitest.Shown(b), "\n"), "\n") {
		fmt.Fprintf(&s, "%s\n", row)
		last := ""
		for x := range b.Width() {
			style := strings.TrimSuffix(strings.TrimPrefix(b.CellAt(x, y).Style.String(), "\x1b["), "m")
			if style != last {
				fmt.Fprintf(&s, " %d:%s", x, style)
			}
			last = style
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// The colours of pictures and their surroundings, by depth.
func TestGoldenColours(t *testing.T) {
	for _, tt := range []struct {
		name    string
		profile colorprofile.Profile
		pane    layout.Pane
		keys    []string
	}{
		{"grey-true", colorprofile.TrueColor, idPicture, []string{"v"}},
		{"grey-256", colorprofile.ANSI256, idPicture, []string{"v"}},
		{"viridis-true", colorprofile.TrueColor, idPicture, []string{"v", "x"}},
		{"difference-true", colorprofile.TrueColor, idPicture, []string{"v", "v", "v"}},
		{"density-true", colorprofile.TrueColor, idKSpace, []string{"v"}},
		{"braille-16", colorprofile.ANSI, idPicture, []string{"v"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := paneScreen(t, tt.pane, 60, 15, Options{}, tt.profile, tuitest.Running())
			for _, k := range tt.keys {
				press(m, k)
			}
			checkFrame(t, m, 60, 15)
			tuitest.Golden(t, "colours-"+tt.name, inked(tuitest.Cells(m.View().Content, 60, 15)))
		})
	}
}

// Pictures have more levels on terminals with 24-bit colours; named styles use the 256 colours.
func TestTrueColourIsForPictures(t *testing.T) {
	levels := map[colorprofile.Profile]int{}
	for _, profile := range []colorprofile.Profile{colorprofile.ANSI256, colorprofile.TrueColor} {
		m, _ := screen(t, 200, 60, Options{}, profile, tuitest.Finished())
		b := tuitest.Cells(m.View().Content, 200, 60)
		seen := map[string]bool{}
		for y := range 60 {
			for x := range 200 {
				if c := b.CellAt(x, y); c.Style.Bg != nil {
					seen[fmt.Sprint(c.Style.Bg)] = true
				} else if strings.Contains(c.Style.String(), "38;2") {
					t.Fatalf("%v: %q at (%d,%d) is no picture and has 24-bit colours", profile, c.Content, x, y)
				}
			}
		}
		levels[profile] = len(seen)
	}
	if of256, true24 := levels[colorprofile.ANSI256], levels[colorprofile.TrueColor]; of256 > 24 || true24 < 2*of256 || true24 > 64 {
		t.Errorf("pictures have %d colours of 256, %d of 24 bits", of256, true24)
	}
}

// A slow line gets no picture in 24-bit colours, whatever the user selects.
func TestASlowLineHasCheapPictures(t *testing.T) {
	m, _ := screen(t, 200, 60, Options{Bandwidth: terminal.LowBandwidth}, colorprofile.TrueColor, tuitest.Running())
	for range 3 {
		for range 6 {
			if strings.Contains(m.View().Content, "8;2;") {
				t.Error("low: 24-bit colours")
			}
			m.panes[idPicture].Press("i")
			m.stale = true
			m.Update(snapshotMsg{tuitest.Running()})
		}
		m.panes[idKSpace].Press("v")
	}
	m.pace.Choose(terminal.FullBandwidth)
	m.budgetPictures()
	m.Update(snapshotMsg{tuitest.Running()})
	if !strings.Contains(m.View().Content, "8;2;") {
		t.Error("full: no 24-bit colours")
	}
	if m.theme.Depth != theme.TrueColor {
		t.Errorf("the theme's depth is %d", m.theme.Depth)
	}
}

// A terminal with 24-bit colours reports them when queried, even if its environment is not
// available.
func TestATerminalTellsItsDepth(t *testing.T) {
	for answer, want := range map[string]theme.Depth{
		"RGB": theme.TrueColor, "Tc": theme.TrueColor, "RGB=8/8/8": theme.TrueColor, "": theme.Colors256, "TN=xterm": theme.Colors256,
	} {
		m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
		m.Update(tea.CapabilityMsg{Content: answer})
		if m.theme.Depth != want {
			t.Errorf("after %q the depth is %d, want %d", answer, m.theme.Depth, want)
		}
	}
	m, _ := screen(t, 120, 40, Options{NoColor: true}, colorprofile.ASCII, tuitest.Running())
	m.Update(tea.CapabilityMsg{Content: "RGB"})
	if m.theme.Depth != theme.NoColor {
		t.Error("an answer brings colours where none are wanted")
	}
}
