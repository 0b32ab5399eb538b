package settings

import (
	"slices"
	"strconv"
	"strings"
)

// Values are a value for every key of a table. They do not change. The zero Values have no
// table and no keys.
type Values struct {
	table  *Table
	values []any // string, bool, int64, float64, []int64 or bound number, by the type of their key
}

// boundNumber is the value of a number that belongs to a state of other settings.
type boundNumber struct {
	Number float64
	For    string // what it was given for; "" is whatever is in use when it takes force
	Now    string // what is in use
}

func (b boundNumber) owner() string {
	if b.For == "" {
		return b.Now
	}
	return b.For
}

// suspended says whether the number is for something else than what is in use. 0 stands for
// no number, and is never suspended.
func (b boundNumber) suspended() bool { return b.Number != 0 && b.owner() != b.Now }

func (b boundNumber) same(c boundNumber) bool {
	return b.Number == c.Number && (b.Number == 0 || b.owner() == c.owner())
}

// Zero has the value 0, false or "" for every key of the table, which need not be allowed: it
// is what a file that sets all of them starts from.
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
			v.values[i] = ""
		}
	}
	return v
}

// Table is the table of the values; nil of the zero Values.
func (v Values) Table() *Table { return v.table }

// Keys lists every setting in the table's order. The caller must not change them.
func (v Values) Keys() []Key { return v.table.Keys() }

// Lookup finds a key by its name; what it returns must not be changed.
func (v Values) Lookup(name string) (*Key, bool) { return v.table.Lookup(name) }

// Has says whether there is a setting of that name.
func (v Values) Has(name string) bool { return v.table.at(name) >= 0 }

// Value is a setting's value: a string, a bool, an int64, a float64 or a []int64, which must
// not be changed; nil for an unknown name.
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

// Text is the value of a text; "" of anything else.
func (v Values) Text(name string) string { s, _ := v.Value(name).(string); return s }

// On is the value of a switch; false of anything else.
func (v Values) On(name string) bool { on, _ := v.Value(name).(bool); return on }

// Int is the value of a whole number; 0 of anything else.
func (v Values) Int(name string) int { n, _ := v.Value(name).(int64); return int(n) }

// Number is the value of a number; 0 of anything else. A suspended one has its value all the
// same: see InForce.
func (v Values) Number(name string) float64 {
	switch n := v.Value(name).(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

// bound is the value of a number that belongs to a state of other settings.
func (v Values) bound(name string) boundNumber {
	if i := v.table.at(name); i >= 0 {
		b, _ := v.values[i].(boundNumber)
		return b
	}
	return boundNumber{}
}

// InForce is Number, and 0 while it is suspended.
func (v Values) InForce(name string) float64 {
	if v.bound(name).suspended() {
		return 0
	}
	return v.Number(name)
}

// Suspended says whether a number is suspended: because it was given for one thing, such as a
// loss, and another is in use now.
func (v Values) Suspended(name string) (given, now string, suspended bool) {
	b := v.bound(name)
	if !b.suspended() {
		return "", "", false
	}
	return b.owner(), b.Now, true
}

// Of names what a number is compared with now, such as the loss in use; "" where it stands
// alone.
func (v Values) Of(name string) string { return v.bound(name).Now }

// Differing lists the keys whose values differ between two Values of one table, in its order.
// A number that one of them suspends is the same number. It is empty for Values of two tables,
// which have nothing to compare.
func (v Values) Differing(w Values) []string {
	if v.table != w.table || len(v.values) == 0 || &v.values[0] == &w.values[0] {
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

// WithLive is v with the live settings of w, which is of the same table.
func (v Values) WithLive(w Values) Values {
	if v.table != w.table {
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

// With is v with some values changed together: as Set, one after the other, and a number that
// belongs to a state of others to that state after all changes. Rules that join settings are
// Validate's.
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

// Settled gives every number that was set, and belongs to a state of other settings, to the
// state as it is now.
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

// refreshed names anew what bound numbers are compared with; v is the caller's own.
func (v Values) refreshed() Values {
	for i := range v.values {
		if b, ok := v.values[i].(boundNumber); ok {
			b.Now = v.table.keys[i].of(v)
			v.values[i] = b
		}
	}
	return v
}

// Validate checks every key's own value and the rules that join them. The error is a
// *ValueError, one line that names the key to change.
func (v Values) Validate() error {
	if err := v.ValidateKeys(); err != nil || v.table == nil || v.table.rules == nil {
		return err
	}
	return v.table.rules(v)
}

// ValidateKeys is Validate without the rules that join keys.
func (v Values) ValidateKeys() error {
	for i := range v.values {
		if err := v.check(i); err != nil {
			return err
		}
	}
	return nil
}

// Unsuspended is an error where a number is suspended, which what starts anew cannot have.
func (v Values) Unsuspended() error {
	for i := range v.values {
		if b, ok := v.values[i].(boundNumber); ok && b.suspended() {
			k := &v.table.keys[i]
			return k.wrong(strconv.Quote(v.Get(k.Name)))
		}
	}
	return nil
}

// Wrong is a *ValueError about a key's present value; want says what would be right.
func (v Values) Wrong(key, want string) error {
	return &ValueError{Key: key, Value: v.Quoted(key), Want: want}
}

// ChangesFrom lists what v has otherwise than before: "radius = 24, snr = 40"; "" for nothing.
func (v Values) ChangesFrom(before Values) string {
	var list []string
	for _, key := range v.Differing(before) {
		list = append(list, key+" = "+v.Get(key))
	}
	return strings.Join(list, ", ")
}
