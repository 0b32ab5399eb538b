package keys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"prismtop/profiles"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/settings"
)

// This file reads the user's choices.

// Own is the user's choices of keys. Nil is none.
type Own struct {
	path    string
	choices []choice
	known   []*settings.Table
}

// choice is a line of the file.
type choice struct {
	action  profiles.Action
	outside bool // it is of a loop in another process, whose settings are not known before it runs
	key     string
	line    int
}

// name returns the action as the file has it.
func (c *choice) name() string {
	name := Path(c.action)
	if c.outside {
		return outside + "." + name
	}
	return name
}

// outside is the table of the file for the settings of loops in other processes.
const outside = "outside"

// Path returns an action's name in keys.toml.
func Path(a profiles.Action) string { return strings.ReplaceAll(string(a), " ", ".") }

// OwnPath returns the path of the user's choices: prismtop/keys.toml in the configuration folder, such as
// $XDG_CONFIG_HOME; "" if there is no such folder.
func OwnPath() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "prismtop", "keys.toml")
}

// largestFile bounds the file, in bytes: a line for every action takes less than a tenth.
const largestFile = 64 << 10

// Read reads the user's choices for runs of the given tables of settings. A file that does not exist is no choice. An
// error names the file, the line, and what would be right.
func Read(ctx context.Context, path string, known ...*settings.Table) (*Own, error) {
	if path == "" {
		return nil, nil
	}
	text, err := inputfile.ReadNamed(ctx, path, largestFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return Parse(path, text, known...)
}

// Parse is Read with the text of the file.
func Parse(path string, text []byte, known ...*settings.Table) (*Own, error) {
	own := &Own{path: path, known: known}
	text, err := inputfile.Text(text)
	if err == nil {
		err = own.parse(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, table := range append([]*settings.Table{nil}, known...) {
		if _, err := For(table, own); err != nil {
			return nil, err
		}
	}
	return own, nil
}

// parse adds the lines of a file.
func (o *Own) parse(text []byte) error {
	p := unstable.Parser{}
	p.Reset(text)
	var in []string // the table
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table:
			in, _ = keyOf(e)
			continue
		case unstable.KeyValue:
		default:
			return errors.New(`must have lines such as pause = "z"`)
		}
		path, raw := keyOf(e)
		c := choice{line: p.Shape(raw).Start.Line}
		if path = append(slices.Clone(in), path...); path[0] == outside {
			path, c.outside = path[1:], true
		}
		c.action = profiles.Action(strings.Join(path, " "))
		if v := e.Value(); v.Kind == unstable.String {
			c.key = string(v.Data)
		} else {
			return fmt.Errorf(`line %d: %s: must be a key in quotes, such as "z"`, c.line, c.name())
		}
		if err := o.check(&c); err != nil {
			return fmt.Errorf("line %d: %s: %w", c.line, c.name(), err)
		}
		if err := valid(c.key); err != nil {
			return fmt.Errorf("line %d: %s = %q: %w", c.line, c.name(), c.key, err)
		}
		o.choices = append(o.choices, c)
	}
	if err := p.Error(); err != nil {
		var syntax *unstable.ParserError
		if errors.As(err, &syntax) {
			return fmt.Errorf("line %d: %w", p.Shape(p.Range(syntax.Highlight)).Start.Line, err)
		}
		return err
	}
	return nil
}

// keyOf returns the parts of an expression's key, and where its first part is.
func keyOf(e *unstable.Node) (parts []string, at unstable.Range) {
	for it := e.Key(); it.Next(); {
		if parts == nil {
			at = it.Node().Raw
		}
		parts = append(parts, string(it.Node().Data))
	}
	return parts, at
}

// check returns an error if there is no such action, if its key is fixed, or if it was chosen before.
func (o *Own) check(c *choice) error {
	for i := range o.choices {
		if o.choices[i].action == c.action && o.choices[i].outside == c.outside {
			return fmt.Errorf("is in line %d too", o.choices[i].line)
		}
	}
	if c.outside {
		if verb, about, _ := strings.Cut(string(c.action), " "); about == "" ||
			!slices.Contains([]string{"switch", "set", "raise", "lower", "back"}, verb) {
			return errors.New("must be switch, set, raise, lower or back with a setting, such as " + outside +
				".raise.lr")
		}
		return nil
	}
	var names []string
	for _, of := range append([]*settings.Table{nil}, o.known...) {
		t, _ := For(of, nil)
		for s := range t.rows {
			for i := range t.rows[s] {
				r := &t.rows[s][i]
				if r.Action == c.action && r.Fixed {
					return fmt.Errorf("always has the key %s", r.Name())
				} else if r.Action == c.action {
					return nil
				}
				names = append(names, Path(r.Action))
			}
		}
	}
	for _, rows := range fixed { // those that need settings which no known run has
		if slices.ContainsFunc(rows, func(r Row) bool { return r.Action == c.action && !r.Fixed }) {
			return nil
		}
	}
	if near := settings.Closest(c.name(), names); len(near) > 0 {
		return fmt.Errorf("no such action; did you mean %s?", near[0])
	}
	return errors.New("no such action: prismtop help keys lists them")
}

// named are the keys of more than one character that a terminal sends and that have no fixed meaning.
var named = []string{"space", "tab", "shift+tab", "backspace", "delete", "insert",
	"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12"}

// reserved are keys with a fixed meaning, and those that a terminal sends for another one.
var reserved = map[string]string{
	"ctrl+c": "quits at once", "ctrl+z": "suspends the program", "ctrl+l": "draws the screen again",
	"esc": "closes what is open", "enter": "confirms", "up": "selects", "down": "selects", "left": "selects",
	"right": "selects", "pgup": "scrolls", "pgdown": "scrolls", "home": "goes to the beginning",
	"end": "goes to the end", "ctrl+i": "is tab to a terminal", "ctrl+m": "is enter to a terminal",
	"ctrl+[": "is esc to a terminal", "ctrl+h": "is backspace to many terminals",
	"ctrl+j": "is enter to many terminals",
}

// valid returns an error if a key cannot be chosen.
func valid(key string) error {
	rest, control := strings.CutPrefix(key, "ctrl+")
	alt, meta := strings.CutPrefix(key, "alt+")
	switch {
	case reserved[key] != "":
		return errors.New("is reserved: it " + reserved[key])
	case len(key) == 1 && key[0] >= '0' && key[0] <= '9':
		return errors.New("is reserved: digits are bookmarks and numbers")
	case key == " ":
		return errors.New(`must be written "space"`)
	case printable(key), slices.Contains(named, key), meta && printable(alt):
		return nil
	case control && len(rest) == 1 && rest[0] >= 'a' && rest[0] <= 'z':
		return nil
	case strings.HasPrefix(key, "shift+") && printable(strings.TrimPrefix(key, "shift+")):
		return fmt.Errorf("must be written %q", strings.ToUpper(strings.TrimPrefix(key, "shift+")))
	}
	return errors.New("no key that a terminal sends: must be a character, ctrl+ or alt+ with one, or one of " +
		strings.Join(named, ", "))
}

// apply gives rows the keys that the user chose. It returns the first error, and obeys the choices without one.
func (o *Own) apply(t *Table) (first error) {
	if o == nil {
		return nil
	}
	foreign := t.of != nil && !slices.Contains(o.known, t.of)
	obeyed, given := map[*Row]*choice{}, o.swapped(t)
	for i := range o.choices {
		c := &o.choices[i]
		if c.outside != foreign && isSetting(t, c.action) {
			continue
		}
		if err := o.obey(t, c, obeyed, given[c]); err != nil && first == nil {
			first = fmt.Errorf("%s: line %d: %s = %q: %w", o.path, c.line, c.name(), c.key, err)
		}
	}
	return first
}

// isSetting reports whether an action changes a setting of the table's run.
func isSetting(t *Table, a profiles.Action) bool {
	r := t.find(a)
	return r != nil && r.Setting != nil
}

// swapped returns, for each choice of two that swap their actions' keys, the key that its action gives up.
func (o *Own) swapped(t *Table) map[*choice]string {
	given := map[*choice]string{}
	for i := range o.choices {
		for j := range o.choices {
			a, b := &o.choices[i], &o.choices[j]
			if of, with := t.find(a.action), t.find(b.action); of != nil && with != nil && of.Has(b.key) &&
				with.Has(a.key) {
				given[a] = b.key
			}
		}
	}
	return given
}

// obey gives an action its key and takes it from the rows on the same screens that have it by default. A row without
// another key takes part in a swap: it gets the key that the action gives up.
func (o *Own) obey(t *Table, c *choice, obeyed map[*Row]*choice, given string) error {
	at := place(0)
	for s := range t.rows {
		for i := range t.rows[s] {
			if r := &t.rows[s][i]; r.Action == c.action {
				at |= Section(s).at(r)
			}
		}
	}
	var losers, swapping []*Row
	for s := range t.rows {
		for i := range t.rows[s] {
			r := &t.rows[s][i]
			switch {
			case r.Action == c.action || Section(s).at(r)&at == 0 || !r.Has(c.key):
			case obeyed[r] != nil:
				return fmt.Errorf("%s has that key, line %d", obeyed[r].name(), obeyed[r].line)
			case len(r.Keys) == 1 && !o.chooses(r.Action) && given != "" && !r.Fixed &&
				o.free(t, given, Section(s).at(r), c.action):
				swapping = append(swapping, r)
			case len(r.Keys) == 1 && !o.chooses(r.Action):
				return fmt.Errorf("is the only key of %s: give that another one too", Path(r.Action))
			default:
				losers = append(losers, r)
			}
		}
	}
	for _, r := range losers {
		r.Keys = slices.DeleteFunc(slices.Clone(r.Keys), func(k string) bool { return k == c.key })
	}
	for _, r := range swapping {
		r.Keys, r.Shown = []string{given}, ""
	}
	for s := range t.rows {
		for i := range t.rows[s] {
			if r := &t.rows[s][i]; r.Action == c.action {
				r.Keys, r.Shown, obeyed[r] = []string{c.key}, "", c
			}
		}
	}
	return nil
}

// free reports whether no row of some screens needs a key beside that of an action which gives it up: none has it, or
// the user chose it for one.
func (o *Own) free(t *Table, key string, at place, but profiles.Action) bool {
	for s := range t.rows {
		for i := range t.rows[s] {
			r := &t.rows[s][i]
			if r.Action == but || Section(s).at(r)&at == 0 {
				continue
			}
			if r.Has(key) || slices.ContainsFunc(o.choices, func(c choice) bool {
				return c.action == r.Action && c.key == key
			}) {
				return false
			}
		}
	}
	return true
}

// chooses reports whether the user chose a key for an action.
func (o *Own) chooses(a profiles.Action) bool {
	return slices.ContainsFunc(o.choices, func(c choice) bool { return c.action == a })
}
