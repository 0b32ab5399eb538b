package settings

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Setting a value from text, and the errors of values and keys that are not valid.

// ValueError reports the invalid value of a key and what would be valid. Its text
// is one line: `size = 500: must be a power of two from 16 to 8192`.
type ValueError struct {
	Key   string
	Value string // as given
	Want  string // "must be …"
}

func (e *ValueError) Error() string { return e.Key + " = " + e.Value + ": " + e.Want }

// KeyError reports that what a value stands for cannot be used: a picture, or a device.
type KeyError struct {
	Key string
	Err error
}

func (e *KeyError) Error() string { return e.Err.Error() }

func (e *KeyError) Unwrap() error { return e.Err }

// UnknownKeyError reports a key that does not exist, with similar ones.
type UnknownKeyError struct {
	Key  string
	Near []string
	All  []string // of a program, which no command lists
}

func (e *UnknownKeyError) Error() string {
	if len(e.Near) == 0 && len(e.All) > 0 {
		return fmt.Sprintf("unknown setting %q: must be %s", e.Key, strings.Join(e.All, ", "))
	}
	if len(e.Near) == 0 {
		return fmt.Sprintf("unknown setting %q: prismtop settings lists them", e.Key)
	}
	near := fmt.Sprintf("unknown setting %q: did you mean %s?", e.Key, strings.Join(e.Near, " or "))
	if len(e.All) > 0 {
		return near
	}
	return near + " prismtop settings lists them"
}

// unknown returns the error about a key that the table does not have.
func (t *Table) unknown(key string) error {
	e := &UnknownKeyError{Key: key, Near: Closest(key, t.Names())}
	if t != nil && t.data != nil {
		e.All = t.Names()
	}
	return e
}

// Set returns v with a value given as text, as in --set key=value. The error is an
// *UnknownKeyError or a *ValueError. Rules that involve several keys are checked by
// Validate.
func (v Values) Set(key, text string) (Values, error) {
	i := v.table.at(key)
	if i < 0 {
		return v, v.table.unknown(key)
	}
	k := &v.table.keys[i]
	if k.Type != TypeText {
		text = strings.TrimSpace(text)
	}
	if k.of != nil {
		return v.setBound(i, text)
	}
	value, ok := k.parse(text)
	if !ok {
		return v, k.wrong(strconv.Quote(text))
	}
	return v.put(i, value)
}

// Put is Set with a value from the TOML decoder.
func (v Values) Put(key string, value any) (Values, error) {
	i := v.table.at(key)
	if i < 0 {
		return v, v.table.unknown(key)
	}
	return v.put(i, plain(&v.table.keys[i], value))
}

// setBound is Set for a number that depends on the state of other settings: it is bound to
// the state in use when it takes effect; "0.003 for l1", as Get writes a suspended one, is
// bound to l1.
func (v Values) setBound(i int, text string) (Values, error) {
	k := &v.table.keys[i]
	number, owner := Unbound(text)
	value, ok := k.parse(number)
	if !ok || number != text && !k.isOf(owner) {
		return v, k.wrong(strconv.Quote(text))
	}
	out, err := v.put(i, value)
	if err == nil && owner != "" {
		b := out.values[i].(boundNumber)
		b.For = owner
		out.values[i] = b
	}
	return out, err
}

const forOwner = " for "

// Unbound splits the text of a number, as returned by Get, into the number and the state a
// suspended one was given for, "" for none.
func Unbound(text string) (number, owner string) {
	number, owner, _ = strings.Cut(text, forOwner)
	return number, owner
}

// parse converts text to string, bool, int64, float64 or []int64, according to the key's
// type.
func (k *Key) parse(text string) (any, bool) {
	switch k.Type {
	case TypeSwitch:
		switch text {
		case "true", "on":
			return true, true
		case "false", "off":
			return false, true
		}
		return nil, false
	case TypeInteger:
		return parseWhole(text)
	case TypeNumber:
		v, err := strconv.ParseFloat(text, 64)
		return v, err == nil
	case TypeList:
		return parseList(text)
	default:
		return text, true
	}
}

// parseWhole reads an integer, also written as 8.0 or 1e6.
func parseWhole(text string) (int64, bool) {
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return v, true
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	return wholeNumber(v)
}

func parseList(text string) ([]int64, bool) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, false
		}
	}
	list := []int64{}
	if strings.TrimSpace(text) == "" {
		return list, true
	}
	for part := range strings.SplitSeq(text, ",") {
		v, ok := parseWhole(strings.TrimSpace(part))
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// plain converts an integer written as 8.0 to an int64, an integer given for a number key to a
// float64, and a list of integers to []int64. Other values are returned unchanged.
func plain(k *Key, value any) any {
	switch k.Type {
	case TypeInteger:
		if whole, ok := wholeNumber(value); ok {
			return whole
		}
	case TypeNumber:
		if whole, ok := value.(int64); ok {
			return float64(whole)
		}
	case TypeList:
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

// wholeNumber returns an int64, or a float64 that is exactly an integer, as
// int64.
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

// put returns v with a checked value for a key.
func (v Values) put(i int, value any) (Values, error) {
	k := &v.table.keys[i]
	if !k.takes(value) {
		return v, k.wrong(Describe(value))
	}
	if n, ok := value.(float64); ok && k.of != nil {
		value = boundNumber{Number: n}
	}
	out := Values{v.table, slices.Clone(v.values)}
	out.values[i] = value
	if err := out.check(i); err != nil {
		return v, err
	}
	return out.refreshed(), nil
}

// takes reports whether a value has the key's type and its integers can be stored.
func (k *Key) takes(value any) bool {
	switch v := value.(type) {
	case string:
		return k.Type == TypeText
	case bool:
		return k.Type == TypeSwitch
	case float64:
		return k.Type == TypeNumber
	case int64:
		return k.Type == TypeInteger && float64(v) >= k.Min && float64(v) <= k.Max
	case []int64:
		return k.Type == TypeList && !slices.ContainsFunc(v, func(n int64) bool { return n < 0 || float64(n) > k.Max })
	}
	return false
}

// check returns an error if a key's value violates its own range or rule.
func (v Values) check(i int) error {
	k, value, ok := &v.table.keys[i], v.values[i], true
	if b, bound := value.(boundNumber); bound {
		value = b.Number
	}
	switch n := value.(type) {
	case string:
		ok = (len(k.Allowed) == 0 || slices.Contains(k.Allowed, n)) && utf8.ValidString(n) &&
			!strings.ContainsRune(n, 0)
	case int64:
		ok = k.inRange(float64(n))
	case float64:
		ok = k.inRange(n)
	case []int64:
		for _, entry := range n {
			ok = ok && k.inRange(float64(entry))
		}
	}
	if !ok || k.holds != nil && !k.holds(value) {
		return k.wrong(v.Quoted(k.Name))
	}
	return nil
}

func (k *Key) inRange(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && v <= k.Max && (v > k.Min || v == k.Min && !k.Above)
}

func (k *Key) wrong(value string) error {
	return &ValueError{Key: k.Name, Value: value, Want: "must be " + k.Wants()}
}
