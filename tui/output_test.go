package tui

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
)

// stuck is a terminal that stops reading until it is freed.
type stuck struct {
	mu    sync.Mutex
	freed chan struct{}
	buf   bytes.Buffer
}

func newStuck() *stuck { return &stuck{freed: make(chan struct{})} }

func (s *stuck) Write(p []byte) (int, error) {
	<-s.freed
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *stuck) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// eventually waits for a condition, and fails the test when it does not come.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

func TestOutputNeverBlocksAndKeepsOrder(t *testing.T) {
	w := newStuck()
	o := newOutput(w)
	var want strings.Builder
	for i := range 1000 {
		s := "line " + itoa(i) + "\n"
		want.WriteString(s)
		if n, err := o.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if o.written() != 0 {
		t.Error("bytes count as written that the terminal did not take")
	}
	eventually(t, "a stuck write to count as busy", o.busy)
	close(w.freed)
	if !o.close(10 * time.Second) {
		t.Fatal("the output did not drain")
	}
	if w.text() != want.String() {
		t.Error("what arrived is not what was written")
	}
	if got := o.written(); got != int64(want.Len()) {
		t.Errorf("%d bytes count as written, want %d", got, want.Len())
	}
}

func TestOutputThrowsAwayBeyondItsBoundAndSaysSo(t *testing.T) {
	w := newStuck()
	o := newOutput(w)
	block := make([]byte, maxPending/4)
	for range 20 {
		if _, err := o.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if o.recovered() {
		t.Error("recovered while the terminal is stuck")
	}
	close(w.freed)
	eventually(t, "the output to recover", o.recovered)
	if o.recovered() {
		t.Error("recovered twice")
	}
	if got := o.written(); got > 2*maxPending {
		t.Errorf("%d bytes were kept for a stuck terminal", got)
	}
	o.close(time.Second)
}

func TestOutputGivesUpOnAStuckTerminal(t *testing.T) {
	w := newStuck()
	o := newOutput(w)
	o.Write([]byte("x"))
	if o.close(10 * time.Millisecond) {
		t.Error("a stuck terminal counts as drained")
	}
	close(w.freed)
}

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestOutputReportsALostTerminal(t *testing.T) {
	o := newOutput(gone{})
	o.Write([]byte("x"))
	eventually(t, "the failure to be known", o.failed)
	if _, err := o.Write([]byte("y")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing to a lost terminal gives %v", err)
	}
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, running())
	m.out = o
	if cmd := m.second(); cmd == nil {
		t.Error("the screen stays on a lost terminal")
	}
}

// While the terminal is behind no frame is drawn for it; what it missed is in
// the next one.
func TestNoFrameIsDrawnForABusyTerminal(t *testing.T) {
	w := newStuck()
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, running())
	m.out = newOutput(w)
	m.out.Write([]byte("x"))
	eventually(t, "the output to be busy", m.out.busy)
	before := join(m.rows)
	m.Update(pressed("?"))
	if join(m.rows) != before {
		t.Error("a frame was drawn")
	}
	if m.cost.skipped == 0 {
		t.Error("the frame that was left out is not counted")
	}
	close(w.freed)
	eventually(t, "the output to be free", func() bool { return !m.out.busy() })
	m.Update(secondMsg(time.Now()))
	if !strings.Contains(join(m.rows), "Keys") {
		t.Error("the help is missing from the frame after")
	}
	m.out.close(time.Second)
}
