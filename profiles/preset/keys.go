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

	// What the screen needs of a setting that changes while the run goes on.
	Short   string            // its name there: "meas. cache"; empty is Name in words
	Mark    rune              // the letter of its changes in charts
	Presses []Press           // the keys that change it
	Notes   map[string]string // what the values of Allowed mean
	Listed  int               // place among the settings whose values are chosen from a list; 0 is none

	Compared Comparison // by an ablation
}

// Press is a key that changes a setting.
type Press struct {
	Key  string   // as the screen shows it: "m"
	Also []string // other keys that do the same
	Help string   // "measurement cache"
	Does Move

	Tuning bool // it stands with the keys of tuning, else with those of settings
	Place  int  // there

	// Footer is its name in the screen's footer, where it has a place: a rank of 0 is the
	// last to leave a narrow one. Width is the room of its value, 0 for the lamp of a switch.
	InFooter bool
	Footer   string
	Rank     int
	Width    int
}

// Move is what a Press does to a value.
type Move uint8

// The moves.
const (
	MoveNext   Move = iota // the next value, twice the number, or the other state of a switch
	MoveBefore             // the value before, half of the number
	MoveWrite              // a value that is typed
	MoveToggle             // off, or the fastest of its values on this machine
)

// Comparison is what an ablation compares of a setting: nothing where it has no pairs.
type Comparison struct {
	Pairs []Pair
	Place int // among the settings that are compared
}

// Pair is two values of a setting.
type Pair struct{ Off, On string }

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

func (e entry) live() entry { e.Live = true; return e }

// called names the setting on screen, by a letter in charts as well.
func (e entry) called(short string, mark rune) entry {
	e.Short, e.Mark = short, mark
	return e
}

// press adds keys.
func (e entry) press(keys ...Press) entry {
	e.Presses = append(slices.Clone(e.Presses), keys...)
	return e
}

// tune adds a key of tuning.
func (e entry) tune(place int, key string, does Move, help string) entry {
	return e.press(Press{Key: key, Help: help, Does: does, Tuning: true, Place: place})
}

// listed lets the values be chosen from a list, and says what they mean, in their order.
func (e entry) listed(place int, texts ...string) entry {
	e.Listed, e.Notes = place, map[string]string{}
	for i, text := range texts {
		e.Notes[e.Allowed[i]] = text
	}
	return e
}

// compared lets an ablation compare the setting off with values on; of a switch, with true.
func (e entry) compared(place int, off string, on ...string) entry {
	e.Compared.Place = place
	for _, v := range on {
		e.Compared.Pairs = append(e.Compared.Pairs, Pair{off, v})
	}
	return e
}

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
