package screen

import (
	"strings"
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
		if frames := map[terminal.Bandwidth]string{terminal.LowBandwidth: ": 1 frame/s,"}[want]; !strings.Contains(m.status.text, frames) {
			t.Errorf("B says %q", m.status.text)
		}
	}
	for _, want := range []terminal.Colours{terminal.DarkColours, terminal.LightColours, terminal.NoColours, terminal.AutoColours} {
		if press(m, "C"); m.colours != want {
			t.Errorf("C chose %s, want %s", m.colours, want)
		}
	}
}
