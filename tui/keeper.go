package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles/inputfile"
	"prismtop/tui/layout"
	"prismtop/tui/terminal"
)

// keeper writes what is remembered to its file: only what changed, and never over
// a file that it cannot read, because a person may have written it.
type keeper struct {
	path string
	deck *layout.Deck // of the panes that it may name

	disk   sync.Mutex // held while the file is read or written
	mu     sync.Mutex // over what follows, never for long
	text   []byte     // the file's, as last read or written
	last   remembered // what it says
	broken error      // why the file is left alone
}

// open reads the file.
func (k *keeper) open() (remembered, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := k.read()
	if errors.Is(err, fs.ErrNotExist) {
		return remembered{}, nil
	}
	if err != nil {
		k.broken = err
		return remembered{}, err
	}
	r, err := parseRemembered(k.path, text, k.deck)
	k.text, k.last, k.broken = text, r, err
	return r, err
}

// The file is short, and a disk that answers does so at once.
const (
	largestRemembered = 64 << 10
	readLimit         = time.Second
)

// read reads the file, which must be a regular one. An error names it.
func (k *keeper) read() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readLimit)
	defer cancel()
	text, err := inputfile.Read(ctx, k.path, largestRemembered)
	var kind *inputfile.KindError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("cannot be read within %v", readLimit)
	case errors.As(err, &kind):
		err = fmt.Errorf("%w: must be a file", err)
	case err == nil:
		text, err = inputfile.Text(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.path, err)
	}
	return text, nil
}

// changed says whether r is to be written.
func (k *keeper) changed(r remembered) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.broken == nil && !reflect.DeepEqual(r, k.last)
}

// save writes r. A file that changed since it was read must be readable still.
func (k *keeper) save(r remembered) error {
	k.disk.Lock()
	defer k.disk.Unlock()
	if !k.changed(r) {
		return nil
	}
	text, err := k.read()
	if err == nil && !bytes.Equal(text, k.text) {
		_, err = parseRemembered(k.path, text, k.deck)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.mu.Lock()
		k.broken = err
		k.mu.Unlock()
		return err
	}
	k.mu.Lock()
	k.last = r // also of a write that fails: the next change tries again
	k.mu.Unlock()
	if err := r.save(k.path); err != nil {
		return err
	}
	k.text, err = r.text()
	return err
}

// rememberedMsg says whether what is remembered was written.
type rememberedMsg struct{ err error }

// remember writes what changed since the last second, beside the screen.
func (m *Model) remember() tea.Cmd {
	if m.keeper == nil || !m.keeper.changed(m.keep) {
		return nil
	}
	k, r := m.keeper, m.keep
	return func() tea.Msg { return rememberedMsg{k.save(r)} }
}

// keepLimit is how long the end of the program waits for the file.
const keepLimit = 200 * time.Millisecond

// rememberLast writes what changed at the end of the program.
func (m *Model) rememberLast() {
	if m.keeper == nil || !m.keeper.changed(m.keep) {
		return
	}
	done := make(chan struct{})
	k, r := m.keeper, m.keep
	go func() {
		_ = k.save(r)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(keepLimit):
	}
}

// recall takes up what a file remembers and says what is wrong with it.
func (m *Model) recall(path string) {
	m.keeper = &keeper{path: path, deck: m.deck}
	r, err := m.keeper.open()
	m.keep = r
	if r.Theme != "" && !m.options.FixedColours {
		m.colours, _ = terminal.ParseColours(r.Theme)
		m.retheme()
	}
	if r.Bandwidth != "" && !m.options.FixedBandwidth {
		chosen, _ := terminal.ParseBandwidth(r.Bandwidth)
		m.pace.Choose(chosen)
	}
	m.mouse = r.Mouse && !m.options.remote()
	if err != nil {
		m.note = err.Error() + ". It stays as it is, and nothing is remembered until it can be read."
		m.complain(strings.Replace(err.Error(), path, filepath.Base(path), 1) + "; nothing is remembered (? tells more)")
	}
}
