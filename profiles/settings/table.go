package settings

import (
	"fmt"
	"slices"
)

// A table of settings and the declaration of its entries.

// Table declares the settings of a workload. It is made once and immutable.
type Table struct {
	Workload string // "prism"

	keys  []Key
	index map[string]int
	rules func(Values) error // rules that involve several settings; nil for none

	roles Roles // of some settings

	data    []byte // what the table was read from; nil for one that is declared in Go
	initial []any  // the values that data begin with; nil for none of a setting
}

// NewTable returns the table of a workload, in the order in which files and documents
// list its settings. rules checks conditions that involve several settings and may be
// nil; each of its errors is a *ValueError. NewTable panics on two entries of the same
// name, which is a programming error.
func NewTable(workload string, rules func(Values) error, entries ...Entry) *Table {
	t := &Table{Workload: workload, rules: rules, index: map[string]int{}}
	for _, e := range entries {
		if _, twice := t.index[e.key.Name]; twice {
			panic(fmt.Sprintf("settings of %s: %q is declared twice", workload, e.key.Name))
		}
		t.index[e.key.Name] = len(t.keys)
		t.keys = append(t.keys, e.key)
	}
	for i := range t.keys {
		if k := &t.keys[i]; !k.Live && k.Fixed == "" {
			k.Fixed = readAtStart
		}
	}
	return t
}

// readAtStart is why most settings cannot change during a run.
const readAtStart = "it is read at the start"

// Keys lists every setting in the table's order. The caller must not modify them.
func (t *Table) Keys() []Key {
	if t == nil {
		return nil
	}
	return t.keys
}

// Names lists the keys' names in the table's order.
func (t *Table) Names() []string {
	names := make([]string, len(t.Keys()))
	for i, k := range t.Keys() {
		names[i] = k.Name
	}
	return names
}

// Dependent lists the names of the numbers that belong to the state of other settings.
func (t *Table) Dependent() (names []string) {
	for i := range t.Keys() {
		if k := &t.keys[i]; k.Depends() {
			names = append(names, k.Name)
		}
	}
	return names
}

// Lookup finds a key by its name; the result must not be modified.
func (t *Table) Lookup(name string) (*Key, bool) {
	if i := t.at(name); i >= 0 {
		return &t.keys[i], true
	}
	return &Key{}, false
}

// at returns the index of a key, −1 if there is none of that name.
func (t *Table) at(name string) int {
	if t == nil {
		return -1
	}
	if i, ok := t.index[name]; ok {
		return i
	}
	return -1
}

// Compares lists the settings that an ablation compares, in the order of its table.
func (t *Table) Compares() []Key {
	keys := slices.DeleteFunc(slices.Clone(t.Keys()), func(k Key) bool { return len(k.Compared.Pairs) == 0 })
	slices.SortStableFunc(keys, func(a, b Key) int { return a.Compared.Place - b.Compared.Place })
	return keys
}

// Everything returns the values of every optimisation that is meant to save time, off and on; none for
// a table without any.
func (t *Table) Everything() (off, on []Assignment) {
	for _, k := range t.Compares() {
		if k.Compared.Everything {
			off = append(off, Assignment{Key: k.Name, Value: k.Compared.Pairs[0].Off})
			on = append(on, Assignment{Key: k.Name, Value: k.Compared.Pairs[0].On})
		}
	}
	return off, on
}

// Revertible reports whether all of the settings can be switched back and forth; false for none.
func (t *Table) Revertible(names ...string) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		k, _ := t.Lookup(name)
		return !k.Live || !k.Revertible
	})
}

// Entry is a key being declared. Its methods return it with additions.
type Entry struct{ key Key }

// Text declares a setting whose value is a text, one of allowed unless that is
// empty.
func Text(group, name, help string, allowed ...string) Entry {
	return Entry{Key{Group: group, Name: name, Help: help, Type: TypeText, Allowed: allowed}}
}

// Switch declares a setting that is on or off.
func Switch(group, name, help string) Entry {
	return Entry{Key{Group: group, Name: name, Help: help, Type: TypeSwitch}}
}

// Integer declares an integer from low to high.
func Integer(group, name, unit, help string, low, high float64) Entry {
	return Entry{Key{Group: group, Name: name, Help: help, Unit: unit, Type: TypeInteger, Min: low, Max: high}}
}

// Number declares a finite number from low to high.
func Number(group, name, unit, help string, low, high float64) Entry {
	return Entry{Key{Group: group, Name: name, Help: help, Unit: unit, Type: TypeNumber, Min: low, Max: high}}
}

// List declares a list of integers from low to high.
func List(group, name, unit, help string, low, high float64) Entry {
	return Entry{Key{Group: group, Name: name, Help: help, Unit: unit, Type: TypeList, Min: low, Max: high}}
}

// Above excludes the smallest value.
func (e Entry) Above() Entry { e.key.Above = true; return e }

// Rule adds a condition to type and range: text follows "must be", and holds is given a
// value as Values.Value returns it.
func (e Entry) Rule(text string, holds func(value any) bool) Entry {
	e.key.Rule, e.key.holds = text, holds
	return e
}

// Words sets the words for an empty value and for 0.
func (e Entry) Words(empty, zero string) Entry { e.key.Empty, e.key.Zero = empty, zero; return e }

// Optional lets checkpoints and files of settings leave out a setting of text, which then has the given value: those of
// versions before it existed.
func (e Entry) Optional(without string) Entry {
	e.key.Optional, e.key.Without = true, without
	return e
}

// Live lets the setting change during a run.
func (e Entry) Live() Entry { e.key.Live = true; return e }

// Fixed says why the setting cannot change during a run, if there is a special reason.
func (e Entry) Fixed(why string) Entry { e.key.Fixed = why; return e }

// Limit marks a setting that ends a unit or the run and does not affect an iteration.
func (e Entry) Limit() Entry { e.key.Limit = true; return e }

// Revertible lets a press of a key be decided by switching the setting back and forth: see
// Key.Revertible.
func (e Entry) Revertible() Entry { e.key.Revertible = true; return e }

// Called sets the setting's name on the screen and its letter in charts.
func (e Entry) Called(short string, mark rune) Entry {
	e.key.Short, e.key.Mark = short, mark
	return e
}

// Press lets a single press of a key change the setting, preferably of the key named.
func (e Entry) Press(key string, does Move, help string) Entry {
	e.key.Presses = append(slices.Clone(e.key.Presses), Press{Key: key, Help: help, Does: does})
	return e
}

// Foremost gives the setting a place, from 1, among those that matter most; the screen shows the first of them.
func (e Entry) Foremost(place int) Entry { e.key.Foremost = place; return e }

// Listed lets the values be chosen from a list and describes each of them, in order.
func (e Entry) Listed(place int, notes ...string) Entry {
	e.key.Listed, e.key.Notes = place, map[string]string{}
	for i, note := range notes {
		e.key.Notes[e.key.Allowed[i]] = note
	}
	return e
}

// Compared lets an ablation compare the value off with each of the values on.
func (e Entry) Compared(place int, off string, on ...string) Entry {
	e.key.Compared.Place = place
	for _, v := range on {
		e.key.Compared.Pairs = append(e.key.Compared.Pairs, Pair{off, v})
	}
	return e
}

// Factor adds a compared setting to a factor of the default factorial ablation, in which it is off
// or has the value on. Settings of one factor are switched together.
func (e Entry) Factor(name, on string) Entry {
	e.key.Compared.Factor, e.key.Compared.FactorOn = name, on
	return e
}

// Everything lets a compared setting take part in the comparison of everything off with everything
// on: one that is meant to save time on this program's devices.
func (e Entry) Everything() Entry { e.key.Compared.Everything = true; return e }

// Touches names the phases of an iteration whose work depends on the setting. It is called
// without arguments for a setting that changes what an iteration computes but not the amount of
// work.
func (e Entry) Touches(phases ...string) Entry {
	e.key.Touches, e.key.TouchesKnown = phases, true
	return e
}

// Costs says what a change costs; without it, it is Cheap.
func (e Entry) Costs(p Price) Entry { e.key.Price = p; return e }

// Idle sets the function that returns why the setting has no effect under the others, "" if it
// has one.
func (e Entry) Idle(why func(Values) string) Entry { e.key.idle = why; return e }

// Of binds a number to the state of other settings named by of: a threshold to the loss it
// was given for. In any other state the number is suspended, and suspended describes the
// consequence. isOf distinguishes names made by of from other text.
func (e Entry) Of(suspended string, of func(Values) string, isOf func(name string) bool) Entry {
	e.key.Suspended, e.key.of, e.key.isOf = suspended, of, isOf
	return e
}
