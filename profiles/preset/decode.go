package preset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"prismtop/profiles/inputfile"
	"prismtop/profiles/settings"
)

// A settings file, decoded with errors that name line and key.

// largestFile bounds a settings file, in bytes: all keys with generous comments
// take less than a tenth.
const largestFile = 64 << 10

// yaml matches a mapping in YAML: a name and a colon at the beginning of a line.
var yaml = regexp.MustCompile(`(?m)^[A-Za-z_]\w*:(\s|$)`)

// document is a decoded TOML file of settings.
type document struct {
	table  *settings.Table
	meta   map[string]string // description, base, picture; preset in users' files
	values map[string]any    // by key
}

// decode reads a whole TOML document into values.
func decode(data []byte) (d document, err error) {
	d.meta, d.values = map[string]string{}, map[string]any{}
	if data, err = inputfile.Text(data); err != nil {
		return d, err
	}
	if err := toml.NewDecoder(bytes.NewReader(data)).Decode(&d.values); err != nil {
		if yaml.Match(data) {
			return d, fmt.Errorf("%w: settings are TOML, not YAML: PRISM's network.use_amp: true is the line amp = "+
				"\"fp16\" here", decodeError(err))
		}
		return d, decodeError(err)
	}
	return d, nil
}

// text removes a text that is not a setting from the values and returns it.
func (d *document) text(name string) error {
	value, ok := d.values[name]
	if !ok {
		return nil
	}
	text, ok := value.(string)
	if !ok {
		return &settings.ValueError{Key: name, Value: settings.Describe(value), Want: "must be text"}
	}
	delete(d.values, name)
	d.meta[name] = text
	return nil
}

// bind checks that the top level contains only keys of the table and the named texts.
func (d *document) bind(table *settings.Table, texts ...string) error {
	d.table = table
	for _, name := range slices.Sorted(maps.Keys(d.values)) {
		switch _, known := table.Lookup(name); {
		case slices.Contains(texts, name):
			if err := d.text(name); err != nil {
				return err
			}
		case !known:
			return &settings.UnknownKeyError{Key: name, Near: settings.Closest(name, append(table.Names(), texts...))}
		}
	}
	return nil
}

// decodeError returns one line with the position of a syntax error.
func decodeError(err error) error {
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		line, column := syntax.Position()
		return fmt.Errorf("line %d, column %d: %w", line, column, err)
	}
	return err
}

// apply applies the document's values in the order of the table and records their
// origins.
func (d *document) apply(v settings.Values, origins settings.Origins, origin string) (settings.Values, error) {
	for _, name := range d.table.Names() {
		value, ok := d.values[name]
		if !ok {
			continue
		}
		var err error
		if v, err = v.Put(name, value); err != nil {
			return v, err
		}
		origins[name] = origin
	}
	return v, nil
}

// readFile reads a settings file, or a pipe given in its place. Errors name the
// remedy.
func readFile(ctx context.Context, path string) ([]byte, error) {
	data, err := inputfile.ReadNamed(ctx, path, largestFile)
	var size *inputfile.SizeError
	if errors.As(err, &size) {
		err = fmt.Errorf("%w: settings files are short", err)
	}
	return data, err
}
