package tui

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Remembered is what the screen keeps from one session to the next. A key that a
// file leaves out has its zero value, which is how the screen begins.
type Remembered struct {
	// Preset is the arrangement of panes: everything, timing, quality or memory.
	Preset string `toml:"preset,omitempty"`
	// Mouse says that the screen listens to the mouse; not over SSH.
	Mouse bool `toml:"mouse,omitempty"`
	// Theme and Bandwidth are the names of the colours and of the bandwidth.
	Theme     string `toml:"theme,omitempty"`
	Bandwidth string `toml:"bandwidth,omitempty"`
	// Panes are what the user shows and hides, by preset.
	Panes map[string]PaneChoice `toml:"panes,omitempty"`
}

// PaneChoice is which panes the user shows and hides beside what a preset does,
// by name.
type PaneChoice struct {
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

// LoadRemembered reads a file; one that is not there is the zero value. An error
// names the file and the key; what could be read comes with it.
func LoadRemembered(path string) (Remembered, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Remembered{}, nil
	}
	if err != nil {
		return Remembered{}, err
	}
	return parseRemembered(path, text)
}

func parseRemembered(path string, text []byte) (Remembered, error) {
	var r Remembered
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
	err = errors.Join(err, r.check())
	if err != nil {
		err = fmt.Errorf("%s: %s", path, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return r, err
}

// check drops the values that the screen does not know and names their keys.
func (r *Remembered) check() error {
	var errs []error
	if r.Preset != "" && findArrangement(r.Preset).name != r.Preset {
		errs = append(errs, fmt.Errorf("preset = %q: must be %s", r.Preset, strings.Join(arrangementNames(), ", ")))
		r.Preset = ""
	}
	if _, err := ParseColours(r.Theme); r.Theme != "" && err != nil {
		errs = append(errs, fmt.Errorf("theme = %w", err))
		r.Theme = ""
	}
	if _, err := ParseBandwidth(r.Bandwidth); r.Bandwidth != "" && err != nil {
		errs = append(errs, fmt.Errorf("bandwidth = %w", err))
		r.Bandwidth = ""
	}
	for name, c := range r.Panes {
		if findArrangement(name).name != name {
			errs = append(errs, fmt.Errorf("panes.%s: no such preset", name))
			delete(r.Panes, name)
			continue
		}
		for _, list := range []*[]string{&c.Show, &c.Hide} {
			*list = slices.DeleteFunc(*list, func(pane string) bool {
				if slices.Contains(paneNames[:], pane) {
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

func arrangementNames() []string {
	names := make([]string, len(arrangements))
	for i, a := range arrangements {
		names[i] = a.name
	}
	return names
}

// text is the file's text.
func (r Remembered) text() ([]byte, error) {
	body, err := toml.Marshal(r)
	return append([]byte(rememberedHead), body...), err
}

// Save writes the file: all of it or nothing. It makes the folder where there is
// none.
func (r Remembered) Save(path string) error {
	text, err := r.text()
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// choice is what the user shows and hides in an arrangement.
func (r *Remembered) choice(name string) choice {
	var c choice
	for _, pane := range r.Panes[name].Show {
		c.show[slices.Index(paneNames[:], pane)] = true
	}
	for _, pane := range r.Panes[name].Hide {
		c.hide[slices.Index(paneNames[:], pane)] = true
	}
	return c
}

// choose notes what the user shows and hides in an arrangement.
func (r *Remembered) choose(name string, c choice) {
	var p PaneChoice
	for id, pane := range paneNames {
		if c.show[id] {
			p.Show = append(p.Show, pane)
		}
		if c.hide[id] {
			p.Hide = append(p.Hide, pane)
		}
	}
	panes := map[string]PaneChoice{}
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
