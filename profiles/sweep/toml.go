package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
)

// A plan's file: TOML, with the line of every key.

// Parse reads the text of a plan.
func Parse(name string, data []byte) (*Plan, error) {
	p := &Plan{Name: name, lines: lines(data)}
	var all map[string]any
	if err := toml.NewDecoder(bytes.NewReader(data)).Decode(&all); err != nil {
		e := &Error{File: name, Err: err}
		var syntax *toml.DecodeError
		if errors.As(err, &syntax) {
			e.Line, _ = syntax.Position()
			e.Key = strings.Join(syntax.Key(), ".")
		}
		return nil, e
	}
	t := table{plan: p, of: all}
	p.Folder, p.Reference = t.text("folder"), t.text("reference")
	p.Replicates = int(t.number("replicates", 1))
	p.Pairing = Pairing(t.text("pairing"))
	p.Turn, p.Budget, p.Checkpoint = t.duration("turn"), t.duration("budget"), t.duration("checkpoint_every")
	if text := t.text("memory_limit"); text != "" {
		var err error
		if p.MemoryLimit, err = unit.ParseBytes(text); err != nil {
			t.fail("memory_limit", err)
		}
	}
	switch seeds := t.text("seeds"); seeds {
	case "", "vary":
	case "same":
		p.SameSeed = true
	default:
		t.fail("seeds", fmt.Errorf("%q: must be vary or same", seeds))
	}
	if base := t.table("base"); base != nil {
		p.Base.Preset = base.text("preset")
		p.Base.Set = base.rest()
	}
	for i, of := range t.tables("arm") {
		p.Arms = append(p.Arms, of.arm(fmt.Sprintf("arm[%d]", i+1)))
	}
	if grid := t.table("grid"); grid != nil {
		p.Arms = append(p.Arms, grid.grid()...)
	}
	if search := t.table("search"); search != nil {
		p.Search = search.search()
	}
	if slurm := t.table("slurm"); slurm != nil {
		p.Slurm = slurm.options()
	}
	t.end("folder", "replicates", "pairing", "turn", "reference", "budget", "checkpoint_every", "seeds", "base", "arm",
		"grid", "search", "memory_limit", "slurm")
	return p, t.firstError()
}

// table is a table of the file under way: what is taken from it, and the first thing that was wrong.
type table struct {
	plan *Plan
	path string // with a dot at its end, empty for the top
	of   map[string]any
	err  *error // shared by all tables of the file
}

func (t *table) firstError() error {
	if t.err == nil {
		return nil
	}
	return *t.err
}

func (t *table) fail(key string, err error) {
	if t.err == nil {
		t.err = new(error)
	}
	if *t.err == nil {
		*t.err = t.plan.wrong(t.path+key, err)
	}
}

// take removes a key and returns its value, nil for none.
func (t *table) take(key string) any {
	v := t.of[key]
	delete(t.of, key)
	return v
}

func (t *table) text(key string) string {
	switch v := t.take(key).(type) {
	case nil:
	case string:
		return v
	default:
		t.fail(key, fmt.Errorf("%s: must be text", settings.Describe(v)))
	}
	return ""
}

func (t *table) number(key string, without int64) int64 {
	switch v := t.take(key).(type) {
	case nil:
		return without
	case int64:
		return v
	default:
		t.fail(key, fmt.Errorf("%s: must be a whole number", settings.Describe(v)))
	}
	return without
}

func (t *table) truth(key string) bool {
	switch v := t.take(key).(type) {
	case nil:
	case bool:
		return v
	default:
		t.fail(key, fmt.Errorf("%s: must be true or false", settings.Describe(v)))
	}
	return false
}

func (t *table) duration(key string) time.Duration {
	text := t.text(key)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.fail(key, fmt.Errorf("%q: must be a time, as 90s, 5m or 2h", text))
	}
	return d
}

// words takes a command line: a text that is split at spaces, or a list of its words.
func (t *table) words(key string) []string {
	switch v := t.take(key).(type) {
	case nil:
		return nil
	case string:
		all, err := Words(v)
		if err == nil && (len(all) == 0 || all[0] == "") {
			err = errors.New("is empty")
		}
		if err != nil {
			t.fail(key, err)
		}
		return all
	case []any:
		var all []string
		for _, word := range v {
			text, ok := word.(string)
			if !ok {
				t.fail(key, fmt.Errorf("%s: must be a list of texts", settings.Describe(word)))
			}
			all = append(all, text)
		}
		if len(all) == 0 || all[0] == "" {
			t.fail(key, errors.New("is empty"))
		}
		return all
	default:
		t.fail(key, fmt.Errorf("%s: must be text, or a list of texts", settings.Describe(v)))
	}
	return nil
}

// table takes a table within this one; nil for none.
func (t *table) table(key string) *table {
	switch v := t.take(key).(type) {
	case nil:
		return nil
	case map[string]any:
		return t.inner(key, v)
	default:
		t.fail(key, errors.New("must be a table: ["+key+"]"))
	}
	return nil
}

func (t *table) inner(key string, of map[string]any) *table {
	if t.err == nil {
		t.err = new(error)
	}
	return &table{plan: t.plan, path: t.path + key + ".", of: of, err: t.err}
}

// tables takes an array of tables.
func (t *table) tables(key string) (all []*table) {
	v := t.take(key)
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		t.fail(key, errors.New("must be [["+key+"]], with two brackets"))
		return nil
	}
	for i, one := range list {
		of, ok := one.(map[string]any)
		if !ok {
			t.fail(key, errors.New("must be [["+key+"]], with two brackets"))
			return nil
		}
		all = append(all, t.inner(fmt.Sprintf("%s[%d]", key, i+1), of))
	}
	return all
}

// rest takes all that is left as settings.
func (t *table) rest() []settings.Assignment {
	of := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(t.of)) {
		value, err := text(t.take(key))
		if err != nil {
			t.fail(key, err)
		}
		of[key] = value
	}
	return sorted(of)
}

// end complains about keys that are left.
func (t *table) end(known ...string) {
	for _, key := range slices.Sorted(maps.Keys(t.of)) {
		why := "no such key"
		if near := settings.Closest(key, known); len(near) > 0 {
			why += ", did you mean " + near[0] + "?"
		} else {
			why += ": must be one of " + strings.Join(known, ", ")
		}
		t.fail(key, errors.New(why))
	}
}

// arm takes an arm.
func (t *table) arm(path string) Arm {
	a := Arm{path: path, Name: t.text("name"), Preset: t.text("preset"), Program: t.text("program"),
		Pair:   t.text("pair"),
		Python: t.words("python"), Command: t.words("command"), Continues: t.truth("continues")}
	if set := t.table("set"); set != nil {
		a.Set = set.rest()
	}
	t.end("name", "preset", "set", "program", "python", "command", "continues", "pair")
	return a
}

// grid takes lists of values, of which every combination is an arm. Keys vary in the order in which they are written.
func (t *table) grid() []Arm {
	values := map[string][]string{}
	keys := slices.SortedFunc(maps.Keys(t.of), func(a, b string) int {
		return t.plan.lines[t.path+a] - t.plan.lines[t.path+b]
	})
	for _, key := range keys {
		list, ok := t.take(key).([]any)
		if !ok || len(list) == 0 {
			t.fail(key, errors.New("must be a list of values: [1, 2, 4]"))
			continue
		}
		for _, value := range list {
			one, err := text(value)
			if err != nil {
				t.fail(key, err)
			}
			values[key] = append(values[key], one)
		}
	}
	arms := Grid(keys, values)
	for i := range arms { // an error about a value names its list
		arms[i].path = "grid"
	}
	return arms
}

// ours are the options of sbatch that the sweep gives itself.
var ours = []string{"array", "output", "error", "requeue", "no-requeue", "signal", "open-mode", "parsable", "wrap",
	"chdir", "job-name"}

// options takes the options of sbatch.
func (t *table) options() (all []settings.Assignment) {
	for _, key := range slices.Sorted(maps.Keys(t.of)) {
		name := strings.ReplaceAll(key, "_", "-")
		value, err := text(t.take(key))
		switch {
		case err != nil:
			t.fail(key, err)
		case slices.Contains(ours, name):
			t.fail(key, errors.New("the sweep gives it itself"))
		case strings.ContainsAny(name, " =\n") || strings.ContainsAny(value, "\n\x00"):
			t.fail(key, errors.New("must be an option of sbatch and its value"))
		}
		all = append(all, settings.Assignment{Key: name, Value: value})
	}
	return all
}

// lines returns the line of every key: "arm[2].set.latent". What cannot be parsed has none.
func lines(data []byte) map[string]int {
	at := map[string]int{}
	var p unstable.Parser
	p.Reset(data)
	count := map[string]int{}
	prefix := ""
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			path, line := keyOf(&p, e.Key())
			// A table within an array belongs to the array's newest.
			bare := strings.Split(path, ".")
			parts := slices.Clone(bare)
			for i := range parts {
				name := strings.Join(bare[:i+1], ".")
				if i == len(parts)-1 && e.Kind == unstable.ArrayTable {
					count[name]++
				}
				if n := count[name]; n > 0 {
					parts[i] += fmt.Sprintf("[%d]", n)
				}
			}
			prefix = strings.Join(parts, ".")
			at[prefix] = line
			prefix += "."
		case unstable.KeyValue:
			value(&p, e, prefix, at)
		}
	}
	return at
}

// value notes the line of a key and of those within its value.
func value(p *unstable.Parser, e *unstable.Node, prefix string, at map[string]int) {
	path, line := keyOf(p, e.Key())
	at[prefix+path] = line
	if v := e.Value(); v.Kind == unstable.InlineTable {
		for inner := v.Children(); inner.Next(); {
			if n := inner.Node(); n.Kind == unstable.KeyValue {
				value(p, n, prefix+path+".", at)
			}
		}
	}
}

// keyOf returns a key with dots, and its line.
func keyOf(p *unstable.Parser, it unstable.Iterator) (path string, line int) {
	var parts []string
	for it.Next() {
		n := it.Node()
		if line == 0 {
			line = p.Shape(n.Raw).Start.Line
		}
		parts = append(parts, string(n.Data))
	}
	return strings.Join(parts, "."), line
}
