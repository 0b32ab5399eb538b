package terminal

import (
	"io"
	"sync"

	"github.com/charmbracelet/x/term"
)

// tty is the terminal that keys come from, with the modes that it had before the
// screen. Nil is an input that is no terminal.
type tty struct {
	file term.File

	mu    sync.Mutex
	state *term.State
	raw   bool
}

// holdTTY remembers the modes of the terminal behind in.
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

// makeRaw hands every key to the program as it comes.
func (t *tty) makeRaw() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := term.MakeRaw(t.file.Fd()); err != nil {
		return err
	}
	t.raw = true
	return nil
}

// restore brings the modes back that were there before makeRaw.
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

// Bounds of the screen in cells, beyond any display's, and its size on a terminal that
// does not know its own.
const (
	maxColumns, maxRows         = 800, 300
	defaultColumns, defaultRows = 80, 24
)

// screenSize is how much of a terminal the screen takes.
func screenSize(fd uintptr) (width, height int) {
	width, height, err := term.GetSize(fd)
	if err != nil || width <= 0 || height <= 0 {
		return defaultColumns, defaultRows
	}
	return min(width, maxColumns), min(height, maxRows)
}

// Columns is the number of columns of the terminal behind w, 0 where it is none.
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

// IsTerminal says whether there is a terminal behind w.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(f.Fd())
}
