// Package preset reads named sets of settings and combines them with the user's: files,
// the environment and flags. It is independent of workloads: each provides its own Shelf.
package preset

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"prismtop/profiles/settings"
)

// Shelves of presets, and the presets on them.

// Shelf holds the presets of a workload.
type Shelf struct {
	Table   *settings.Table
	Files   fs.FS  // NAME.toml, in one folder; nil for a shelf whose only preset is made at run time
	Default string // preset of a run that names none
	Text    string // of that preset, if Files is nil
}

// Embedded returns a shelf whose presets are embedded from a folder "presets".
func Embedded(table *settings.Table, files fs.FS, standard string) Shelf {
	folder, err := fs.Sub(files, "presets")
	if err != nil {
		panic(table.Workload + ": the embedded presets: " + err.Error())
	}
	return Shelf{Table: table, Files: folder, Default: standard}
}

// Shelves are those of all workloads. The default of the first is that of the program.
type Shelves []Shelf

// Default returns the preset of a run that names none.
func (all Shelves) Default() string { return all[0].Default }

// Preset is a named set of settings that ships with the program.
type Preset struct {
	Name        string
	Description string // one line
	Picture     string // the picture it was made for, which is not shipped; empty for the built-in object
	Settings    settings.Values

	origins settings.Origins // this preset for each value, also for one that it has from its base
}

// Workload returns the workload of the preset.
func (p *Preset) Workload() string { return p.Settings.Table().Workload }

// Names lists the presets of each workload: its default first, the others by name.
func (all Shelves) Names() (names []string) {
	for _, shelf := range all {
		names = append(names, shelf.names()...)
	}
	return names
}

func (s *Shelf) names() []string {
	if s.Files == nil {
		return []string{s.Default}
	}
	files, err := fs.ReadDir(s.Files, ".")
	if err != nil {
		panic("preset: the folder of " + s.Table.Workload + " cannot be read: " + err.Error())
	}
	names := []string{s.Default}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".toml"); name != s.Default {
			names = append(names, name)
		}
	}
	return names
}

// Lookup finds a preset by its name; PRISM's spelling with underscores
// ("quick_test") is understood. The error lists the available presets.
func (all Shelves) Lookup(name string) (Preset, error) {
	name = strings.ReplaceAll(name, "_", "-")
	for i := range all {
		if !slices.Contains(all[i].names(), name) {
			continue
		}
		p, err := all[i].load(name, nil)
		if err != nil {
			return Preset{}, fmt.Errorf("preset %q: %w", name, err)
		}
		return p, nil
	}
	return Preset{}, unknownPreset(name, all.Names())
}

// explained returns an error about a setting that only other workloads have as one that names the workload; any other
// error as it is.
func (all Shelves) explained(table *settings.Table, err error) error {
	var unknown *settings.UnknownKeyError
	if !errors.As(err, &unknown) {
		return err
	}
	for i := range all {
		if _, known := all[i].Table.Lookup(unknown.Key); known && all[i].Table != table {
			return fmt.Errorf("the workload %s has no setting %q: prismtop settings --workload %[1]s lists them",
				table.Workload, unknown.Key)
		}
	}
	return err
}

func unknownPreset(name string, names []string) error {
	if near := settings.Closest(name, names); len(near) > 0 {
		return fmt.Errorf("preset %q: unknown, did you mean %s?", name, strings.Join(near, " or "))
	}
	return fmt.Errorf("preset %q: unknown, must be one of %s", name, strings.Join(names, ", "))
}

// file returns the text of a preset.
func (s *Shelf) file(name string) ([]byte, error) {
	switch {
	case s.Files != nil:
		return fs.ReadFile(s.Files, name+".toml")
	case name != s.Default:
		return nil, fs.ErrNotExist
	}
	return []byte(s.Text), nil
}

// load reads an embedded preset after the one it is based on; seen holds the
// presets being read.
func (s *Shelf) load(name string, seen []string) (Preset, error) {
	if slices.Contains(seen, name) {
		return Preset{}, fmt.Errorf("base = %q: presets %s are based on each other", name, strings.Join(seen, ", "))
	}
	data, err := s.file(name)
	if err != nil {
		return Preset{}, fmt.Errorf("base = %q: must be a preset", name)
	}
	d, err := decode(data)
	if err == nil {
		err = d.bind(s.Table, "description", "base", "picture")
	}
	if err != nil {
		return Preset{}, fmt.Errorf("%s.toml: %w", name, err)
	}
	p := Preset{Settings: s.Table.Zero()}
	if base := d.meta["base"]; base != "" {
		if p, err = s.load(base, append(seen, name)); err != nil {
			return Preset{}, err
		}
	} else if err := d.complete(); err != nil {
		return Preset{}, fmt.Errorf("%s.toml: %w", name, err)
	}
	p.Name, p.Description = name, d.meta["description"]
	if picture, ok := d.meta["picture"]; ok {
		p.Picture = picture
	}
	p.origins = settings.Origins{}
	for _, key := range s.Table.Names() {
		p.origins[key] = "preset " + name
	}
	if p.Settings, err = d.apply(p.Settings, p.origins, "preset "+name); err != nil {
		return Preset{}, fmt.Errorf("%s.toml: %w", name, err)
	}
	return p, nil
}

// complete returns an error naming the keys that a preset without a base leaves
// unset.
func (d *document) complete() error {
	for _, k := range d.table.Keys() {
		if _, ok := d.values[k.Name]; !ok && !k.Optional {
			return fmt.Errorf("%s: must be set, because there is no base", k.Name)
		}
	}
	return nil
}

// Notes describes how the settings deviate from the preset's intention: the
// picture it was made for is replaced by a built-in object.
func (p Preset) Notes(v settings.Values) []string {
	if p.Picture == "" || v.Text("image") != "" {
		return nil
	}
	return []string{fmt.Sprintf("preset %q was made for %s, which is not shipped: using the built-in %s (give "+
		"--image %s)",
		p.Name, p.Picture, v.Text("object"), path.Base(p.Picture))}
}
