package screen

import (
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/terminal"
	"prismtop/tui/tuitest"
)

func TestBandwidthAndColoursHaveKeys(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	for _, want := range []terminal.Bandwidth{terminal.LowBandwidth, terminal.FullBandwidth, terminal.AutoBandwidth} {
		if press(m, "B"); m.pace.Chosen() != want {
			t.Errorf("B chose %s, want %s", m.pace.Chosen(), want)
		}
	}
	for _, want := range []terminal.Colours{terminal.DarkColours, terminal.LightColours, terminal.NoColours, terminal.AutoColours} {
		if press(m, "C"); m.colours != want {
			t.Errorf("C chose %s, want %s", m.colours, want)
		}
	}
}
