package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/pelletier/go-toml/v2"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/inputfile"
	"prismtop/tui/layout"
	"prismtop/tui/terminal"
)

// remembered is what the screen keeps from one session to the next. A key that a
// file leaves out has its zero value, which is how the screen begins.
type remembered struct {
	// Preset is what older files call the arrangement that they were left in. It is read
	// and forgotten: every start shows everything, so that no pane is missed unawares.
	Preset string `toml:"preset,omitempty"`
	// Mouse says that the screen listens to the mouse; not over SSH.
	Mouse bool `toml:"mouse,omitempty"`
	// Theme and Bandwidth are the names of the colours and of the bandwidth.
	Theme     string `toml:"theme,omitempty"`
	Bandwidth string `toml:"bandwidth,omitempty"`
	// Panes are what the user shows and hides, by preset.
	Panes map[string]paneChoice `toml:"panes,omitempty"`
}

// paneChoice is which panes the user shows and hides beside what a preset does,
// by name.
type paneChoice struct {
	Show []string `toml:"show,omitempty"`
	Hide []string `toml:"hide,omitempty"`
}

// rememberedHead begins the file.
const rememberedHead = "# How prismtop's screen was left. Written by the program, which keeps no comments of yours.\n\n"

// RememberedPath is where the screen's file is: prismtop/screen.toml under
// $XDG_CONFIG_HOME, or where else this system keeps settings.
func RememberedPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("screen.toml: %w", err)
	}
	return filepath.Join(dir, "prismtop", "screen.toml"), nil
}

// parseRemembered reads a file's text. An error names the file and the key; what
// could be read comes with it.
func parseRemembered(path string, text []byte, deck *layout.Deck) (remembered, error) {
	var r remembered
	decoder := toml.NewDecoder(bytes.NewReader(text))
	err := decoder.DisallowUnknownFields().Decode(&r)
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		err = fmt.Errorf("unknown key %q", strings.Join(unknown.Errors[0].Key(), "."))
	case errors.As(err, &wrong):
		line, _ := wrong.Position()
		if key := strings.Join(wrong.Key(), "."); key != "" {
			err = fmt.Errorf("line %d: %s: %s", line, key, strings.TrimPrefix(wrong.Error(), "toml: "))
		} else {
			err = fmt.Errorf("line %d: %s", line, strings.TrimPrefix(wrong.Error(), "toml: "))
		}
	}
	err = errors.Join(err, r.check(deck))
	if err != nil {
		err = fmt.Errorf("%s: %s", path, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return r, err
}

// check drops the values that the screen does not know and names their keys.
func (r *remembered) check(deck *layout.Deck) error {
	var errs []error
	r.Preset = ""
	if _, err := terminal.ParseColours(r.Theme); r.Theme != "" && err != nil {
		errs = append(errs, fmt.Errorf("theme = %w", err))
		r.Theme = ""
	}
	if _, err := terminal.ParseBandwidth(r.Bandwidth); r.Bandwidth != "" && err != nil {
		errs = append(errs, fmt.Errorf("bandwidth = %w", err))
		r.Bandwidth = ""
	}
	for name, c := range r.Panes {
		if deck.Arrangement(name).Name != name {
			errs = append(errs, fmt.Errorf("panes.%s: no such preset", name))
			delete(r.Panes, name)
			continue
		}
		for _, list := range []*[]string{&c.Show, &c.Hide} {
			*list = slices.DeleteFunc(*list, func(pane string) bool {
				if deck.Find(pane) != layout.None {
					return false
				}
				errs = append(errs, fmt.Errorf("panes.%s: no pane %q", name, pane))
				return true
			})
		}
		r.Panes[name] = c
	}
	return errors.Join(errs...)
}

// text is the file's text.
func (r remembered) text() ([]byte, error) {
	body, err := toml.Marshal(r)
	return append([]byte(rememberedHead), body...), err
}

// save writes the file: all of it or nothing. It makes the folder where there is
// none.
func (r remembered) save(path string) error {
	text, err := r.text()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, text, 0o600)
}

// choice is what the user shows and hides in an arrangement.
func (r *remembered) choice(deck *layout.Deck, name string) layout.Choice {
	var c layout.Choice
	for _, pane := range r.Panes[name].Show {
		if id := deck.Find(pane); id != layout.None {
			c.Show[id] = true
		}
	}
	for _, pane := range r.Panes[name].Hide {
		if id := deck.Find(pane); id != layout.None {
			c.Hide[id] = true
		}
	}
	return c
}

// choose notes what the user shows and hides in an arrangement.
func (r *remembered) choose(deck *layout.Deck, name string, c layout.Choice) {
	var p paneChoice
	for id := range deck.Panes {
		pane := deck.Panes[id].Name
		if c.Show[id] {
			p.Show = append(p.Show, pane)
		}
		if c.Hide[id] {
			p.Hide = append(p.Hide, pane)
		}
	}
	panes := map[string]paneChoice{}
	for k, v := range r.Panes { // the map is shared with a copy that is being saved
		panes[k] = v
	}
	panes[name] = p
	if len(p.Show)+len(p.Hide) == 0 {
		delete(panes, name)
	}
	if len(panes) == 0 {
		panes = nil
	}
	r.Panes = panes
}

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
