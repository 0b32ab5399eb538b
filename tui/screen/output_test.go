package screen

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/ptytest"
	"prismtop/tui/terminal"
	"prismtop/tui/tuitest"
)

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestTheScreenEndsOnALostTerminal(t *testing.T) {
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running())
	m.out = terminal.NewOutput(gone{})
	m.out.Write([]byte("x"))
	ptytest.Eventually(t, "the failure to be known", m.out.Failed)
	if cmd := m.second(); cmd == nil {
		t.Error("the screen stays on a lost terminal")
	}
}

// No frame is drawn while the terminal is behind; its changes are in the next one.
func TestNoFrameIsDrawnForABusyTerminal(t *testing.T) {
	w := ptytest.NewStuck()
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running())
	m.out = terminal.NewOutput(w)
	m.out.Write([]byte("x"))
	ptytest.Eventually(t, "the output to be busy", m.out.Busy)
	before := strings.Join(m.frame.Lines(m.theme), "\n")
	m.Update(pressed("?"))
	if strings.Join(m.frame.Lines(m.theme), "\n") != before {
		t.Error("a frame was drawn")
	}
	if m.skipped == 0 {
		t.Error("the frame that was left out is not counted")
	}
	w.Free()
	ptytest.Eventually(t, "the output to be free", func() bool { return !m.out.Busy() })
	m.Update(secondMsg(time.Now()))
	if !strings.Contains(strings.Join(m.frame.Lines(m.theme), "\n"), "Keys") {
		t.Error("the help is missing from the frame after")
	}
	m.out.Close(time.Second)
}
