package preset

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed *.toml
var embedded embed.FS

// Default is the preset of a run that names none.
const Default = "moon"

// Preset is a named set of settings that ships with the program.
type Preset struct {
	Name        string
	Description string // one line
	Picture     string // the picture it was made for, which is not shipped; empty for the built-in object
	Settings    Settings

	origins Origins // the preset that gave each value: this one, or what it is based on
}

// Names lists the presets: the default first, the others by name.
func Names() []string {
	files, err := embedded.ReadDir(".")
	if err != nil {
		panic("preset: the embedded folder cannot be read: " + err.Error())
	}
	names := []string{Default}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".toml"); name != Default {
			names = append(names, name)
		}
	}
	return names
}

// Lookup finds a preset by its name; PRISM's spelling with underscores
// ("quick_test") is understood. The error lists what there is.
func Lookup(name string) (Preset, error) {
	name = strings.ReplaceAll(name, "_", "-")
	names := Names()
	if !slices.Contains(names, name) {
		return Preset{}, unknownPreset(name, names)
	}
	p, err := load(name, nil)
	if err != nil {
		return Preset{}, fmt.Errorf("preset %q: %w", name, err)
	}
	return p, nil
}

func unknownPreset(name string, names []string) error {
	if near := Closest(name, names); len(near) > 0 {
		return fmt.Errorf("preset %q: unknown, did you mean %s?", name, strings.Join(near, " or "))
	}
	return fmt.Errorf("preset %q: unknown, must be one of %s", name, strings.Join(names, ", "))
}

// load reads an embedded preset after the one it is based on; seen holds the
// presets that are being read.
func load(name string, seen []string) (Preset, error) {
	if slices.Contains(seen, name) {
		return Preset{}, fmt.Errorf("base = %q: presets %s are based on each other", name, strings.Join(seen, ", "))
	}
	data, err := embedded.ReadFile(name + ".toml")
	if err != nil {
		return Preset{}, fmt.Errorf("base = %q: must be a preset", name)
	}
	d, err := decode(data, "description", "base", "picture")
	if err != nil {
		return Preset{}, fmt.Errorf("%s.toml: %w", name, err)
	}
	p := Preset{origins: Origins{}}
	if base := d.meta["base"]; base != "" {
		if p, err = load(base, append(seen, name)); err != nil {
			return Preset{}, err
		}
	} else if err := complete(d); err != nil {
		return Preset{}, fmt.Errorf("%s.toml: %w", name, err)
	}
	p.Name, p.Description = name, d.meta["description"]
	if picture, ok := d.meta["picture"]; ok {
		p.Picture = picture
	}
	if err := d.apply(&p.Settings, p.origins, "preset "+name); err != nil {
		return Preset{}, fmt.Errorf("%s.toml: %w", name, err)
	}
	return p, nil
}

// complete tells which keys a preset without a base leaves open.
func complete(d document) error {
	for _, name := range keyNames() {
		if _, ok := d.values[name]; !ok {
			return fmt.Errorf("%s: must be set, there is no base", name)
		}
	}
	return nil
}

// Notes says what of the preset's intention the settings do not meet: that the
// picture it was made for is replaced by a built-in object.
func (p Preset) Notes(s *Settings) []string {
	if p.Picture == "" || s.Image != "" {
		return nil
	}
	return []string{fmt.Sprintf("preset %q was made for %s, which is not shipped: using the built-in %s (give --image %s)",
		p.Name, p.Picture, s.Object, path.Base(p.Picture))}
}
