package settings

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// A key of a table: its type, its presses, how it is compared, what it costs, and the values that it takes.

// Type is the type of a key's value.
type Type uint8

// The types of values.
const (
	TypeText    Type = iota // a string, or one of Key.Allowed
	TypeSwitch              // true or false
	TypeInteger             // an integer
	TypeNumber              // a finite real number
	TypeList                // whole numbers, separated by commas
)

// Key describes one setting.
type Key struct {
	Group   string   // its group: "The picture"
	Name    string   // as in files, flags and --set
	Help    string   // one line
	Unit    string   // "pixels", "dB"; empty for pure numbers
	Type    Type     //
	Allowed []string // the allowed values of a text; empty means any text
	Only    string   // why other values are not allowed; empty without a special reason
	Min     float64  // smallest value of integers, numbers and entries of lists
	Max     float64  // largest value; +Inf if unbounded
	Above   bool     // Min itself is excluded
	Rule    string   // a condition beyond type and range, as in "must be …"; empty for none
	Live    bool     // can change during a run; the others need a restart
	Fixed   string   // why it cannot: "it is read at the start"; empty if it can
	// Optional is set if files may leave out the setting, a text, which is then Without.
	Optional bool
	Without  string
	Limit    bool // determines when a unit or the run ends, and does not affect an iteration
	// Revertible is set if the setting takes force with the next iteration, takes milliseconds to switch,
	// and leaves the run's state as it would be without it, so that it can be switched back and forth.
	Revertible bool
	Price      Price  // of a change
	Idles      []Idle // why it has no effect under the others: the first that applies
	Empty      string // word for an empty text or list: "none"
	Zero       string // word for 0: "no limit"

	// Data for the screen about a setting that can change during a run.
	Short    string            // its name there: "meas. cache"; empty means Name in words
	Mark     rune              // the letter that marks its changes in charts
	Presses  []Press           // what single presses of keys change
	Foremost int               // position among the settings that matter most, from 1; 0 means none of them
	Notes    map[string]string // what the values of Allowed mean
	Listed   int               // position among the settings whose values are chosen from a list; 0 means none

	Compared Comparison // by an ablation

	// Touches names the phases of an iteration whose work depends on the setting, if TouchesKnown
	// is set. All other phases are controls: their times cannot change with the setting.
	Touches      []string
	TouchesKnown bool

	// Suspended describes the consequence while a number that depends on the state of
	// other settings (Entry.Of) is suspended: "samples end at their limits".
	Suspended string

	holds func(value any) bool   // whether Rule holds; nil without one
	of    func(Values) string    // the state a number depends on; nil if it depends on none
	isOf  func(name string) bool // reports whether of can return a name
	idle  func(v Values) string  // why it has no effect under the other settings
}

// Press is a change of a setting by a single press: an action, for which the user interface finds a key.
type Press struct {
	Key  string // the key that suits it: "m"; another one is found if that is taken. Empty for no preference
	Help string // "measurement cache"
	Does Move
}

// Move is the effect of a Press on a value.
type Move uint8

// The moves.
const (
	MoveNext   Move = iota // the next value, twice the number, or the other state of a switch
	MoveBefore             // the previous value, or half the number
	MoveWrite              // a typed value
	MoveToggle             // off, or the last value used
)

// Comparison describes how an ablation compares a setting: not at all if it has no
// pairs.
type Comparison struct {
	Pairs []Pair
	Place int // position among the compared settings

	// Factor is the name of the factor of the default factorial that switches the setting between
	// off and FactorOn, together with the other settings of the same factor; empty for none.
	Factor, FactorOn string

	// Everything is true of an optimisation that the comparison of everything off with everything on
	// switches between the first pair's values.
	Everything bool
}

// Pair is two values of a setting.
type Pair struct {
	Off string `json:"off"`
	On  string `json:"on"`
}

// Price is what it costs to change a setting during a run.
type Price uint8

// The prices.
const (
	Cheap Price = iota // it may be switched back and forth, block by block
	Dear               // a switch takes so long that only a replication makes several
	Epoch              // it takes force with the next unit of work: no comparison switches it
)

// Idle says why a setting has no effect while another one has a value.
type Idle struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Why     string `json:"why"`
}

// Title returns the setting's name on the screen.
func (k *Key) Title() string {
	if k.Short != "" {
		return k.Short
	}
	return strings.ReplaceAll(k.Name, "_", " ")
}

// Idle returns why a setting has no effect under the others; empty if it has.
func (k *Key) Idle(v Values) string {
	for _, i := range k.Idles {
		if v.Get(i.Setting) == i.Value {
			return i.Why
		}
	}
	if k.idle == nil {
		return ""
	}
	return k.idle(v)
}

// Takes reports whether a typed value can contain a character, named as a key of a keyboard.
func (k *Key) Takes(key string) bool {
	if key == "space" {
		key = " "
	}
	if len([]rune(key)) != 1 {
		return false
	}
	switch k.Type {
	case TypeInteger:
		return strings.Contains("0123456789+-", key)
	case TypeNumber:
		return strings.Contains("0123456789+-.eE", key)
	case TypeList:
		return strings.Contains("0123456789, ", key)
	}
	return len(k.Allowed) == 0 || slices.ContainsFunc(k.Allowed,
		func(v string) bool { return strings.Contains(v, key) })
}

// Wants describes the valid values, to follow "must be".
func (k *Key) Wants() string {
	switch {
	case len(k.Allowed) > 0 && k.Only != "":
		return "one of " + strings.Join(k.Allowed, ", ") + ": " + k.Only
	case len(k.Allowed) > 0:
		return "one of " + strings.Join(k.Allowed, ", ")
	case k.Type == TypeText:
		return "UTF-8 text"
	case k.Type == TypeSwitch:
		return "true or false"
	}
	what := map[Type]string{TypeInteger: "a whole number", TypeNumber: "a number",
		TypeList: "a list of whole numbers"}[k.Type]
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

// bound formats an end of a range for display.
func bound(v float64) string {
	switch {
	case v == MaxInteger: // which a float64 cannot represent exactly
		return strconv.FormatInt(MaxInteger, 10)
	case v == math.Trunc(v) && v < 1<<62:
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// MaxInteger is the largest integer in a settings file.
const MaxInteger = math.MaxInt64

// Usual returns the value that a press of a MoveToggle switches on: of the values that an ablation compares the one
// that is not the first of Allowed, else the second of Allowed.
func (k *Key) Usual() string {
	if len(k.Compared.Pairs) > 0 {
		for _, v := range []string{k.Compared.Pairs[0].On, k.Compared.Pairs[0].Off} {
			if v != k.Allowed[0] && slices.Contains(k.Allowed, v) {
				return v
			}
		}
	}
	return k.Allowed[1]
}

// Depends reports whether the number belongs to the state of other settings; see Entry.Of.
func (k *Key) Depends() bool { return k.of != nil }
