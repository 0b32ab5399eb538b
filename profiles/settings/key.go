package settings

import (
	"math"
	"strconv"
	"strings"
)

// Type is the kind of value that a key takes.
type Type uint8

// The kinds of values.
const (
	TypeText    Type = iota // a string, or one of Key.Allowed
	TypeSwitch              // true or false
	TypeInteger             // a whole number
	TypeNumber              // a finite real number
	TypeList                // whole numbers, separated by commas
)

// Key describes one setting.
type Key struct {
	Group   string   // what it belongs to: "The picture"
	Name    string   // as in files, flags and --set
	Help    string   // one line
	Unit    string   // "pixels", "dB"; empty for pure numbers
	Type    Type     //
	Allowed []string // the values that a text may have; empty when any text will do
	Min     float64  // smallest value of integers, numbers and entries of lists
	Max     float64  // largest value; +Inf when open
	Above   bool     // Min itself is excluded
	Rule    string   // a condition beyond type and range, as in "must be …"; empty for none
	Live    bool     // may change while the run goes on; the others need a restart
	Limit   bool     // says when a unit or the run ends, and changes nothing in an iteration
	Empty   string   // what people call an empty text or list: "none"
	Zero    string   // what people call 0: "no limit"

	// What the screen needs of a setting that changes while the run goes on.
	Short   string            // its name there: "meas. cache"; empty is Name in words
	Mark    rune              // the letter of its changes in charts
	Presses []Press           // the keys that change it
	Notes   map[string]string // what the values of Allowed mean
	Listed  int               // place among the settings whose values are chosen from a list; 0 is none

	Compared Comparison // by an ablation

	// Touches names the phases of an iteration whose work depends on the setting, where TouchesKnown:
	// the others are controls, whose times a change of it cannot move.
	Touches      []string
	TouchesKnown bool

	// Suspended is what happens while a number is suspended that belongs to the state of
	// other settings (Entry.Of): "samples end at their limits".
	Suspended string

	holds func(value any) bool   // whether Rule holds; nil without one
	of    func(Values) string    // what a number belongs to; nil for one that stands alone
	isOf  func(name string) bool // whether of may have made a name
	idle  func(v Values) string  // why it cannot matter beside the other settings
}

// Press is a keyboard key that changes a setting.
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
	MoveToggle             // off, or the value that was in use last
)

// Comparison is what an ablation compares of a setting: nothing where it has no pairs.
type Comparison struct {
	Pairs []Pair
	Place int // among the settings that are compared
}

// Pair is two values of a setting.
type Pair struct{ Off, On string }

// Idle says why a setting cannot matter beside the others; empty where it can.
func (k *Key) Idle(v Values) string {
	if k.idle == nil {
		return ""
	}
	return k.idle(v)
}

// Wants says which values are right, to follow "must be".
func (k *Key) Wants() string {
	switch {
	case len(k.Allowed) > 0:
		return "one of " + strings.Join(k.Allowed, ", ")
	case k.Type == TypeText:
		return "UTF-8 text"
	case k.Type == TypeSwitch:
		return "true or false"
	}
	what := map[Type]string{TypeInteger: "a whole number", TypeNumber: "a number", TypeList: "a list of whole numbers"}[k.Type]
	if k.Rule != "" {
		what = k.Rule
	}
	low, high := bound(k.Min), bound(k.Max)
	switch {
	case k.Above && math.IsInf(k.Max, 1):
		return what + " above " + low
	case k.Above:
		return what + " above " + low + ", at most " + high
	case math.IsInf(k.Max, 1):
		return what + ", at least " + low
	}
	return what + " from " + low + " to " + high
}

// bound is an end of a range as people write it.
func bound(v float64) string {
	switch {
	case v == MaxInteger: // which a float64 cannot hold exactly
		return strconv.FormatInt(MaxInteger, 10)
	case v == math.Trunc(v) && v < 1<<62:
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// MaxInteger is the largest whole number that a settings file can hold.
const MaxInteger = math.MaxInt64
