package terminal

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/tui/chart"
	"prismtop/tui/ptytest"
	"prismtop/tui/theme"
)

func TestOutputNeverBlocksAndKeepsOrder(t *testing.T) {
	w := ptytest.NewStuck()
	o := NewOutput(w)
	var want strings.Builder
	for i := range 1000 {
		s := "line " + strconv.Itoa(i) + "\n"
		want.WriteString(s)
		if n, err := o.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if o.Written() != 0 {
		t.Error("bytes count as written that the terminal did not take")
	}
	ptytest.Eventually(t, "a stuck write to count as busy", o.Busy)
	w.Free()
	if !o.Close(10 * time.Second) {
		t.Fatal("the output did not drain")
	}
	if w.Text() != want.String() {
		t.Error("what arrived is not what was written")
	}
	if got := o.Written(); got != int64(want.Len()) {
		t.Errorf("%d bytes count as written, want %d", got, want.Len())
	}
}

func TestOutputThrowsAwayBeyondItsBoundAndSaysSo(t *testing.T) {
	w := ptytest.NewStuck()
	o := NewOutput(w)
	block := make([]byte, maxPending/4)
	for range 20 {
		if _, err := o.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if o.Recovered() {
		t.Error("recovered while the terminal is stuck")
	}
	w.Free()
	ptytest.Eventually(t, "the output to recover", o.Recovered)
	if o.Recovered() {
		t.Error("recovered twice")
	}
	if got := o.Written(); got > 2*maxPending {
		t.Errorf("%d bytes were kept for a stuck terminal", got)
	}
	o.Close(time.Second)
}

func TestOutputGivesUpOnAStuckTerminal(t *testing.T) {
	w := ptytest.NewStuck()
	o := NewOutput(w)
	o.Write([]byte("x"))
	if o.Close(10 * time.Millisecond) {
		t.Error("a stuck terminal counts as drained")
	}
	w.Free()
}

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Bubble Tea may open the screen, and a program draw, before the terminal has told its size.
func TestOutputDrawsBeforeThereIsASize(t *testing.T) {
	o := NewOutput(io.Discard)
	defer o.Close(time.Second)
	if _, err := io.WriteString(o, ansi.SetModeAltScreenSaveCursor); err != nil {
		t.Fatal(err)
	}
	o.Frame(new(chart.Canvas), theme.New(colorprofile.ANSI256, true, false))
}

func TestOutputReportsALostTerminal(t *testing.T) {
	o := NewOutput(gone{})
	o.Write([]byte("x"))
	ptytest.Eventually(t, "the failure to be known", o.Failed)
	if _, err := o.Write([]byte("y")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing to a lost terminal gives %v", err)
	}
}
