package settings

import (
	"slices"
	"strconv"
	"strings"
)

// Values of all keys: reading them, numbers that belong to the state of others, differences, and validation.

// Values hold a value for every key of a table. They are immutable. The zero Values have
// no table and no keys.
type Values struct {
	table  *Table
	values []any // string, bool, int64, float64, []int64 or boundNumber, depending on the key's type
}

// boundNumber is the value of a number that depends on the state of other
// settings.
type boundNumber struct {
	Number float64
	For    string // the state it was given for; "" means the one in use when it takes effect
	Now    string // the state in use
}

func (b boundNumber) owner() string {
	if b.For == "" {
		return b.Now
	}
	return b.For
}

// suspended reports whether the number is for a state other than the one in use. 0 means no
// number and is never suspended.
func (b boundNumber) suspended() bool { return b.Number != 0 && b.owner() != b.Now }

func (b boundNumber) same(c boundNumber) bool {
	return b.Number == c.Number && (b.Number == 0 || b.owner() == c.owner())
}

// Zero returns 0, false or "" for every key of the table, even where not allowed: the starting
// point for a file that sets all keys.
func (t *Table) Zero() Values {
	v := Values{t, make([]any, len(t.keys))}
	for i := range t.keys {
		switch k := &t.keys[i]; k.Type {
		case TypeSwitch:
			v.values[i] = false
		case TypeInteger:
			v.values[i] = int64(0)
		case TypeNumber:
			v.values[i] = 0.0
			if k.of != nil {
				v.values[i] = boundNumber{}
			}
		case TypeList:
			v.values[i] = []int64(nil)
		default:
			v.values[i] = k.Without
		}
	}
	return v
}

// Table returns the table of the values; nil for the zero Values.
func (v Values) Table() *Table { return v.table }

// Keys lists every setting in the table's order. The caller must not modify them.
func (v Values) Keys() []Key { return v.table.Keys() }

// Lookup finds a key by its name; the result must not be modified.
func (v Values) Lookup(name string) (*Key, bool) { return v.table.Lookup(name) }

// Has reports whether there is a setting of that name.
func (v Values) Has(name string) bool { return v.table.at(name) >= 0 }

// Value returns a setting's value: a string, a bool, an int64, a float64 or a []int64, which
// must not be modified; nil for an unknown name.
func (v Values) Value(name string) any {
	i := v.table.at(name)
	if i < 0 {
		return nil
	}
	if b, ok := v.values[i].(boundNumber); ok {
		return b.Number
	}
	return v.values[i]
}

// Text returns the value of a text; "" for any other type.
func (v Values) Text(name string) string { s, _ := v.Value(name).(string); return s }

// On returns the value of a switch; false for any other type.
func (v Values) On(name string) bool { on, _ := v.Value(name).(bool); return on }

// Int returns the value of an integer; 0 for any other type.
func (v Values) Int(name string) int { n, _ := v.Value(name).(int64); return int(n) }

// Number returns the value of a number, even if suspended (see InForce); 0 for any other
// type.
func (v Values) Number(name string) float64 {
	switch n := v.Value(name).(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

// bound returns the value of a number that depends on the state of other
// settings.
func (v Values) bound(name string) boundNumber {
	if i := v.table.at(name); i >= 0 {
		b, _ := v.values[i].(boundNumber)
		return b
	}
	return boundNumber{}
}

// InForce is Number, but 0 while it is suspended.
func (v Values) InForce(name string) float64 {
	if v.bound(name).suspended() {
		return 0
	}
	return v.Number(name)
}

// Suspended reports whether a number is suspended, with the state it was given for and the one in
// use.
func (v Values) Suspended(name string) (given, now string, suspended bool) {
	b := v.bound(name)
	if !b.suspended() {
		return "", "", false
	}
	return b.owner(), b.Now, true
}

// Of names the state a number currently depends on, such as the loss in use; "" if it
// depends on none.
func (v Values) Of(name string) string { return v.bound(name).Now }

// Differing lists the keys whose values differ between two Values of one table, in its order.
// A number suspended in one of them counts as the same number. The list is empty for Values of
// different tables, which cannot be compared.
func (v Values) Differing(w Values) []string {
	if !v.table.Same(w.table) || len(v.values) == 0 || &v.values[0] == &w.values[0] {
		return nil
	}
	var keys []string
	for i := range v.values {
		if !same(v.values[i], w.values[i]) {
			keys = append(keys, v.table.keys[i].Name)
		}
	}
	return keys
}

func same(a, b any) bool {
	switch a := a.(type) {
	case []int64:
		return slices.Equal(a, b.([]int64))
	case boundNumber:
		return a.same(b.(boundNumber))
	}
	return a == b
}

// WithLive returns v with the live settings of w, which has the same table.
func (v Values) WithLive(w Values) Values {
	if !v.table.Same(w.table) {
		return v
	}
	out := Values{v.table, slices.Clone(v.values)}
	for i := range out.values {
		if v.table.keys[i].Live {
			out.values[i] = w.values[i]
			if b, ok := out.values[i].(boundNumber); ok {
				b.For = b.owner()
				out.values[i] = b
			}
		}
	}
	return out.refreshed()
}

// With returns v with several values changed together, like Set for each in turn, except that
// numbers that depend on other settings are bound to the state after all changes. Rules that
// involve several settings are checked by Validate.
func (v Values) With(sets ...Assignment) (Values, error) {
	out := v
	for _, a := range sets {
		var err error
		if out, err = out.Set(a.Key, a.Value); err != nil {
			return v, err
		}
	}
	return out.Settled(), nil
}

// Settled binds every set number that depends on the state of other settings to the current
// state.
func (v Values) Settled() Values {
	out := Values{v.table, slices.Clone(v.values)}
	for i := range out.values {
		if b, ok := out.values[i].(boundNumber); ok {
			b.For = b.owner()
			out.values[i] = b
		}
	}
	return out
}

// refreshed updates the states of bound numbers in place; v must not be shared.
func (v Values) refreshed() Values {
	for i := range v.values {
		if b, ok := v.values[i].(boundNumber); ok {
			b.Now = v.table.keys[i].of(v)
			v.values[i] = b
		}
	}
	return v
}

// Validate checks each key's value and the rules that involve several keys. The
// error is a *ValueError, one line that names the key to change.
func (v Values) Validate() error {
	if err := v.ValidateKeys(); err != nil || v.table == nil || v.table.rules == nil {
		return err
	}
	return v.table.rules(v)
}

// ValidateKeys is Validate without the rules that involve several keys.
func (v Values) ValidateKeys() error {
	for i := range v.values {
		if err := v.check(i); err != nil {
			return err
		}
	}
	return nil
}

// Unsuspended returns an error if a number is suspended, which is not allowed at the start
// of a run.
func (v Values) Unsuspended() error {
	for i := range v.values {
		if b, ok := v.values[i].(boundNumber); ok && b.suspended() {
			k := &v.table.keys[i]
			return k.wrong(strconv.Quote(v.Get(k.Name)))
		}
	}
	return nil
}

// Wrong returns a *ValueError about a key's current value; want describes valid
// values.
func (v Values) Wrong(key, want string) error {
	return &ValueError{Key: key, Value: v.Quoted(key), Want: want}
}

// ChangesFrom lists the settings of v that differ from before: "radius = 24, snr = 40"; "" for
// none.
func (v Values) ChangesFrom(before Values) string {
	var list []string
	for _, key := range v.Differing(before) {
		list = append(list, key+" = "+v.Get(key))
	}
	return strings.Join(list, ", ")
}
