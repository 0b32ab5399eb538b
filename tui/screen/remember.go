package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	"prismtop/tui/pane"
	"prismtop/tui/terminal"
)

// What the screen remembers between sessions, and its file.

// remembered is the state of the screen kept between sessions. Keys missing from a file have
// their zero value, which is the initial state.
type remembered struct {
	// Preset is the last arrangement in files of older versions. It is read and ignored: the
	// screen always starts with everything, so that no pane goes unnoticed.
	Preset string `toml:"preset,omitempty"`
	// Mouse enables the mouse, except over SSH.
	Mouse bool `toml:"mouse,omitempty"`
	// Theme and Bandwidth are the names of the colours and of the bandwidth.
	Theme     string `toml:"theme,omitempty"`
	Bandwidth string `toml:"bandwidth,omitempty"`
	// Panes holds the panes that the user shows and hides, by arrangement.
	Panes map[string]paneChoice `toml:"panes,omitempty"`
	// Factorial holds the names of the settings last chosen for a factorial ablation, by workload.
	Factorial map[string][]string `toml:"factorial,omitempty"`
}

// paneChoice names the panes that the user shows and hides, relative to an arrangement.
type paneChoice struct {
	Show []string `toml:"show,omitempty"`
	At   []int    `toml:"at,omitempty"` // columns and rows of the screen on which they were shown
	Hide []string `toml:"hide,omitempty"`
}

// rememberedHead is the first line of the file.
const rememberedHead = "# How prismtop's screen was left. Written by the program, which keeps no comments of yours.\n\n"

// RememberedPath returns the path of the screen's file: prismtop/screen.toml in the user's
// configuration folder, such as $XDG_CONFIG_HOME.
func RememberedPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("screen.toml: %w", err)
	}
	return filepath.Join(dir, "prismtop", "screen.toml"), nil
}

// parseRemembered parses the text of a file. An error names the file and the key; valid values
// are returned with it.
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

// check drops unknown values and returns an error that names their keys.
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
			errs = append(errs, fmt.Errorf("panes.%s: no such layout", name))
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

// text returns the contents of the file.
func (r remembered) text() ([]byte, error) {
	body, err := toml.Marshal(r)
	return append([]byte(rememberedHead), body...), err
}

// save writes the file atomically and creates its folder if needed.
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

// choice returns the panes that the user shows and hides in an arrangement.
func (r *remembered) choice(deck *layout.Deck, name string) layout.Choice {
	var c layout.Choice
	copy(c.ShownAt[:], r.Panes[name].At)
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

// choose records the panes that the user shows and hides in an arrangement.
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
	if len(p.Show) > 0 && c.ShownAt != [2]int{} {
		p.At = c.ShownAt[:]
	}
	panes := map[string]paneChoice{}
	for k, v := range r.Panes { // the map is shared with a copy being saved
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

// chooseFactorial records the settings chosen for a factorial ablation of a workload.
func (r *remembered) chooseFactorial(workload string, names []string) {
	all := maps.Clone(r.Factorial) // the map is shared with a copy being saved
	if all == nil {
		all = map[string][]string{}
	}
	all[workload] = names
	r.Factorial = all
}

// keeper writes the remembered state to its file. It writes only changes, and never overwrites a
// file that it cannot parse, which may have been edited by hand.
type keeper struct {
	path string
	deck *layout.Deck // panes that the file may name

	disk   sync.Mutex // held while the file is read or written
	mu     sync.Mutex // guards the fields below, never held for long
	text   []byte     // of the file, as last read or written
	last   remembered // parsed from text
	broken error      // why the file must not be written
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

// Limits for reading the file, which is short.
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

// changed reports whether r needs to be written.
func (k *keeper) changed(r remembered) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.broken == nil && !reflect.DeepEqual(r, k.last)
}

// save writes r. If the file has changed since it was last read, it must still be valid.
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
	k.last = r // even if writing fails: the next change retries
	k.mu.Unlock()
	if err := r.save(k.path); err != nil {
		return err
	}
	k.text, err = r.text()
	return err
}

// rememberedMsg reports whether the state was written.
type rememberedMsg struct{ err error }

// begin writes the changes of the last second in the background. A nil keeper has none.
func (k *keeper) begin(r remembered) tea.Cmd {
	if k == nil || !k.changed(r) {
		return nil
	}
	return func() tea.Msg { return rememberedMsg{k.save(r)} }
}

// keepLimit is the maximum time that the end of the program waits for the file.
const keepLimit = 200 * time.Millisecond

// finish writes remaining changes at the end of the program.
func (k *keeper) finish(r remembered) {
	if k == nil || !k.changed(r) {
		return
	}
	done := make(chan struct{})
	go func() {
		_ = k.save(r)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(keepLimit):
	}
}

// Left returns the colours, the bandwidth and the mouse of a screen with these options: as it was left,
// where the options do not fix them.
func Left(o Options) (terminal.Colours, terminal.Bandwidth, bool) {
	var r remembered
	if o.Remember != "" {
		k := keeper{path: o.Remember, deck: pane.NewDeck(Panes)}
		r, _ = k.open() // the screen itself reports errors of the file
	}
	if r.Theme != "" && !o.FixedColours {
		o.Colours, _ = terminal.ParseColours(r.Theme)
	}
	if r.Bandwidth != "" && !o.FixedBandwidth {
		o.Bandwidth, _ = terminal.ParseBandwidth(r.Bandwidth)
	}
	o = o.onTerminal()
	return o.Colours, o.Bandwidth, r.Mouse && !o.remote()
}

// recall applies the remembered state and reports errors in its file.
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
	m.mouse.on = r.Mouse && !m.mouse.remote
	if err != nil {
		m.help.note = err.Error() + ". It stays as it is, and nothing is remembered until it can be read."
		m.complain(strings.Replace(err.Error(), path, filepath.Base(path), 1) +
			"; nothing is remembered (? tells more)")
	}
}
