package preset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"prismtop/profiles/inputfile"
)

// largestFile bounds a settings file, in bytes: all keys and generous comments
// take less than a tenth.
const largestFile = 64 << 10

// document is a decoded TOML file of settings.
type document struct {
	meta   map[string]string // description, base, picture; preset in users' files
	values map[string]any    // by key
}

// decode reads a TOML document whose top level holds keys of Settings and the
// named meta keys, nothing else.
func decode(data []byte, meta ...string) (document, error) {
	d := document{meta: map[string]string{}, values: map[string]any{}}
	data, err := inputfile.Text(data)
	if err != nil {
		return d, err
	}
	raw := map[string]any{}
	if err := toml.NewDecoder(bytes.NewReader(data)).Decode(&raw); err != nil {
		return d, decodeError(err)
	}
	names := make([]string, 0, len(raw))
	for name := range raw {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := raw[name]
		if slices.Contains(meta, name) {
			text, ok := value.(string)
			if !ok {
				return d, &ValueError{Key: name, Value: describe(value), Want: "must be text"}
			}
			d.meta[name] = text
			continue
		}
		e := find(name)
		if e == nil {
			return d, &UnknownKeyError{name, Closest(name, append(keyNames(), meta...))}
		}
		d.values[name] = plain(e, value)
	}
	return d, nil
}

// plain turns a whole number that was written as 8.0 into an int64, and a list
// of whole numbers into []int64. What is neither stays as it is.
func plain(e *entry, value any) any {
	switch e.Type {
	case Integer:
		if whole, ok := wholeNumber(value); ok {
			return whole
		}
	case List:
		list, ok := value.([]any)
		if !ok {
			return value
		}
		whole := make([]int64, len(list))
		for i, v := range list {
			if whole[i], ok = wholeNumber(v); !ok {
				return value
			}
		}
		return whole
	}
	return value
}

// wholeNumber is an int64, or a float64 that is exactly one.
func wholeNumber(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v), true
		}
	}
	return 0, false
}

// decodeError is one line with the place of a syntax error.
func decodeError(err error) error {
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		line, column := syntax.Position()
		return fmt.Errorf("line %d, column %d: %w", line, column, err)
	}
	return err
}

// apply sets the document's values in the order of the table and records where
// they came from.
func (d document) apply(s *Settings, origins Origins, origin string) error {
	for i := range table {
		value, ok := d.values[table[i].Name]
		if !ok {
			continue
		}
		if err := table[i].assign(s, value); err != nil {
			return err
		}
		origins[table[i].Name] = origin
	}
	return nil
}

// readFile reads a settings file, or a pipe that a user names as one. Errors say what
// would be right.
func readFile(ctx context.Context, path string) ([]byte, error) {
	data, err := inputfile.ReadNamed(ctx, path, largestFile)
	var kind *inputfile.KindError
	var size *inputfile.SizeError
	switch {
	case errors.As(err, &size):
		err = fmt.Errorf("%w: settings files are short", err)
	case errors.As(err, &kind), errors.Is(err, inputfile.ErrNoWriter):
		err = fmt.Errorf("%w: must be a TOML file", err)
	}
	return data, err
}

func keyNames() []string {
	names := make([]string, len(table))
	for i, e := range table {
		names[i] = e.Name
	}
	return names
}
