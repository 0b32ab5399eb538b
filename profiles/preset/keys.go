package preset

import (
	"math"
	"slices"
)

// Type is the kind of value a key takes.
type Type uint8

// The kinds of values.
const (
	Text    Type = iota // a string, or one of Key.Allowed
	Switch              // true or false
	Integer             // a whole number
	Number              // a finite real number
	List                // whole numbers, separated by commas
)

// Key describes one setting.
type Key struct {
	Group   string   // what it belongs to: "The picture"
	Name    string   // as in files, flags and --set
	Help    string   // one line
	Unit    string   // "pixels", "dB"; empty for pure numbers
	Type    Type     //
	Allowed []string // the values a Text key may take; empty when any text will do
	Min     float64  // smallest value of Integer, Number and List entries
	Max     float64  // largest value; +Inf when open
	Above   bool     // Min itself is excluded
	Rule    string   // a condition beyond type and range, as in "must be …"; empty for none
	Live    bool     // may change while the run goes on; the others need a restart
	Limit   bool     // says when a sample or the run ends, and changes nothing in an iteration
}

// entry binds a key to its field and to the rule that range and type cannot say.
type entry struct {
	Key
	field func(*Settings) any
	holds func(*Settings) bool // whether Rule holds; nil without a Rule
}

// Keys lists every setting in the order of Settings. The caller owns the slice.
func Keys() []Key {
	keys := make([]Key, len(table))
	for i, e := range table {
		keys[i] = e.Key
		keys[i].Allowed = slices.Clone(e.Allowed)
	}
	return keys
}

// LookupKey finds a key by its name.
func LookupKey(name string) (Key, bool) {
	if e := find(name); e != nil {
		k := e.Key
		k.Allowed = slices.Clone(k.Allowed)
		return k, true
	}
	return Key{}, false
}

func find(name string) *entry {
	for i := range table {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}

func text(group, name, help string, field func(*Settings) *string, allowed ...string) entry {
	return entry{
		Key:   Key{Group: group, Name: name, Help: help, Type: Text, Allowed: allowed},
		field: func(s *Settings) any { return field(s) },
	}
}

func toggle(group, name, help string, field func(*Settings) *bool) entry {
	return entry{
		Key:   Key{Group: group, Name: name, Help: help, Type: Switch},
		field: func(s *Settings) any { return field(s) },
	}
}

func integer[T int | int64 | uint64](group, name, unit, help string, low, high float64, field func(*Settings) *T) entry {
	return entry{
		Key:   Key{Group: group, Name: name, Help: help, Unit: unit, Type: Integer, Min: low, Max: high},
		field: func(s *Settings) any { return field(s) },
	}
}

func number(group, name, unit, help string, low, high float64, field func(*Settings) *float64) entry {
	return entry{
		Key:   Key{Group: group, Name: name, Help: help, Unit: unit, Type: Number, Min: low, Max: high},
		field: func(s *Settings) any { return field(s) },
	}
}

func (e entry) live() entry  { e.Live = true; return e }
func (e entry) limit() entry { e.Limit = true; return e }
func (e entry) above() entry { e.Above = true; return e }
func (e entry) rule(text string, holds func(*Settings) bool) entry {
	e.Rule, e.holds = text, holds
	return e
}

// Bounds that keep arithmetic exact and counters within 32 bits.
const (
	maxSide  = 8192
	maxCount = math.MaxInt32
	// maxSeed is the largest whole number that TOML can write.
	maxSeed = math.MaxInt64
)

func powerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }
