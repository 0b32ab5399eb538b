package screen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
)

// A run of another program shows what that prints, and asks whether to end it.
func TestWhatAProgramPrintsHasAPane(t *testing.T) {
	s := plainRun()
	s.Run.Prints, s.Run.Object, s.State = true, "train.py", profiles.Running
	s.Output = &profiles.Output{Printed: 100}
	for i := range 60 {
		s.Output.Lines = append(s.Output.Lines, fmt.Sprintf("printed line %d", 40+i))
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
		m.setFocus(idOutput)
		m.toggleZoom()
		text := ansi.Strip(m.View().Content)
		if !strings.Contains(text, "printed line 99") || !strings.Contains(text, " earlier") {
			t.Errorf("%v: the newest line is not there:\n%s", size, text)
		}
		press(m, "home")
		if text := ansi.Strip(m.View().Content); !strings.Contains(text, "printed line 40") || !strings.Contains(text, "newer") {
			t.Errorf("%v: the oldest line is not there:\n%s", size, text)
		}
		press(m, "esc", "q")
		if text := ansi.Strip(m.View().Content); !strings.Contains(text, "End train.py? It gets ctrl+c.") {
			t.Errorf("%v: q does not ask:\n%s", size, text)
		}
	}
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	if m.layout.Panes[idOutput].Empty() {
		t.Error("the overview at 120x40 has no room for what the program prints")
	}
}
