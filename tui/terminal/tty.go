package terminal

import (
	"io"
	"reflect"
	"sync"

	"github.com/charmbracelet/x/term"
)

// tty is the terminal that keys are read from, with the modes it had before the screen. A nil
// tty is an input that is not a terminal.
type tty struct {
	file term.File

	mu    sync.Mutex
	state *term.State
	raw   bool
	ours  *term.State // the modes that makeRaw has set; nil if unknown
}

// holdTTY records the modes of the terminal behind in.
func holdTTY(in io.Reader) *tty {
	f, ok := in.(term.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return nil
	}
	state, err := term.GetState(f.Fd())
	if err != nil {
		return nil
	}
	return &tty{file: f, state: state}
}

// makeRaw puts the terminal into raw mode.
func (t *tty) makeRaw() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := term.MakeRaw(t.file.Fd()); err != nil {
		return err
	}
	t.raw = true
	t.ours, _ = term.GetState(t.file.Fd())
	return nil
}

// keeps reports whether the terminal still has the modes that makeRaw has set.
func (t *tty) keeps() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, err := term.GetState(t.file.Fd())
	return !t.raw || err != nil || reflect.DeepEqual(now, t.ours)
}

// forget leaves the modes to the shell that has set them.
func (t *tty) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw = false
}

// restore restores the modes from before makeRaw.
func (t *tty) restore() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.raw {
		_ = term.Restore(t.file.Fd(), t.state)
		t.raw = false
	}
}

// Maximum size of the screen in cells, larger than any display, and the size for a terminal that
// does not report one.
const (
	maxColumns, maxRows         = 800, 300
	defaultColumns, defaultRows = 80, 24
)

// Clamp returns a size for the screen of a terminal that claims one.
func Clamp(width, height int) (w, h int) {
	if width <= 0 || height <= 0 {
		return defaultColumns, defaultRows
	}
	return min(width, maxColumns), min(height, maxRows)
}

// screenSize returns the size of the screen on a terminal.
func screenSize(fd uintptr) (width, height int) {
	width, height, err := term.GetSize(fd)
	if err != nil {
		return defaultColumns, defaultRows
	}
	return Clamp(width, height)
}

// Columns returns the number of columns of the terminal behind w, 0 if w is not a terminal.
func Columns(w io.Writer) int {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(f.Fd())
	if err != nil {
		return 0
	}
	return width
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(f.Fd())
}
