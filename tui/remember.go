package tui

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"prismtop/profiles/atomicfile"
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
