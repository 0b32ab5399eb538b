package preset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ValueError says which value of which key is wrong and what would be right.
// Its text is one line: `size = 500: must be a power of two from 16 to 8192`.
type ValueError struct {
	Key   string
	Value string // as given
	Want  string // "must be …"
}

// Error implements error.
func (e *ValueError) Error() string { return e.Key + " = " + e.Value + ": " + e.Want }

// UnknownKeyError names a key that does not exist, and those that look like it.
type UnknownKeyError struct {
	Key  string
	Near []string
}

// Error implements error.
func (e *UnknownKeyError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("unknown setting %q: see prismtop presets show", e.Key)
	}
	return fmt.Sprintf("unknown setting %q: did you mean %s?", e.Key, strings.Join(e.Near, " or "))
}

// Assignment is a key and the value that it is to have, as Set reads it.
type Assignment struct{ Key, Value string }

// Set gives the key the value that the text says, as in --set key=value.
// Nothing changes when it returns an error: an *UnknownKeyError or a
// *ValueError. Rules that join several keys are Validate's.
func (s *Settings) Set(key, value string) error {
	e := find(key)
	if e == nil {
		return &UnknownKeyError{key, nearest(key)}
	}
	if e.Type != Text {
		value = strings.TrimSpace(value)
	}
	if key == thresholdKey {
		return s.setThreshold(e, value)
	}
	v, ok := e.parse(value)
	if !ok {
		return e.wrong(strconv.Quote(value))
	}
	return e.assign(s, v)
}

// Get is the key's value as text that Set accepts, empty for an unknown key. A
// threshold that is suspended is followed by the loss that it is for: "0.003 for l1".
func (s *Settings) Get(key string) string {
	e := find(key)
	switch {
	case e == nil:
		return ""
	case key == thresholdKey:
		return e.format(s) + s.suspendedFor()
	}
	return e.format(s)
}

// parse reads text into string, bool, int64, float64 or []int64, as the key's
// type asks.
func (e *entry) parse(value string) (any, bool) {
	switch e.Type {
	case Switch:
		switch value {
		case "true", "on":
			return true, true
		case "false", "off":
			return false, true
		}
		return nil, false
	case Integer:
		return parseWhole(value)
	case Number:
		v, err := strconv.ParseFloat(value, 64)
		return v, err == nil
	case List:
		return parseList(value)
	default:
		return value, true
	}
}

// parseWhole reads a whole number, also as 8.0 or 1e6.
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

func parseList(value string) ([]int64, bool) {
	if inner, ok := strings.CutPrefix(value, "["); ok {
		if value, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, false
		}
	}
	list := []int64{}
	if strings.TrimSpace(value) == "" {
		return list, true
	}
	for part := range strings.SplitSeq(value, ",") {
		v, ok := parseWhole(strings.TrimSpace(part))
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// assign stores a value of the type that parse or the TOML decoder delivers,
// after checking it. Settings are unchanged on error.
func (e *entry) assign(s *Settings, value any) error {
	trial := *s
	if !e.store(&trial, value) {
		return e.wrong(describe(value))
	}
	if err := e.check(&trial); err != nil {
		return err
	}
	*s = trial
	return nil
}

// store writes value into the key's field; false when its type or size does
// not fit.
func (e *entry) store(s *Settings, value any) bool {
	switch field := e.field(s).(type) {
	case *string:
		v, ok := value.(string)
		*field = v
		return ok
	case *bool:
		v, ok := value.(bool)
		*field = v
		return ok
	case *float64:
		switch v := value.(type) {
		case float64:
			*field = v
			return true
		case int64:
			*field = float64(v)
			return true
		}
		return false
	case *[]int:
		return storeList(field, value, e.Max)
	}
	v, ok := value.(int64)
	if !ok || float64(v) < e.Min || float64(v) > e.Max {
		return false
	}
	switch field := e.field(s).(type) {
	case *int:
		*field = int(v)
	case *int64:
		*field = v
	case *uint64:
		*field = uint64(v)
	}
	return true
}

func storeList(field *[]int, value any, limit float64) bool {
	list, ok := value.([]int64)
	if !ok {
		return false
	}
	*field = make([]int, len(list))
	for i, v := range list {
		if v < 0 || float64(v) > limit {
			return false
		}
		(*field)[i] = int(v)
	}
	return true
}

// check tells whether the key's own value keeps its range and rule.
func (e *entry) check(s *Settings) error {
	ok := true
	switch field := e.field(s).(type) {
	case *string:
		ok = (len(e.Allowed) == 0 || slices.Contains(e.Allowed, *field)) &&
			utf8.ValidString(*field) && !strings.ContainsRune(*field, 0)
	case *int:
		ok = e.inRange(float64(*field))
	case *int64:
		ok = e.inRange(float64(*field))
	case *uint64:
		ok = *field <= maxSeed
	case *float64:
		ok = e.inRange(*field)
	case *[]int:
		for _, v := range *field {
			ok = ok && e.inRange(float64(v))
		}
	}
	if !ok || e.holds != nil && !e.holds(s) {
		return e.wrong(e.quoted(s))
	}
	return nil
}

func (e *entry) inRange(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && v <= e.Max && (v > e.Min || v == e.Min && !e.Above)
}

func (e *entry) wrong(value string) error {
	return &ValueError{Key: e.Name, Value: value, Want: "must be " + e.Key.Wants()}
}

// Wants says which values are right, to follow "must be".
func (k Key) Wants() string {
	switch {
	case len(k.Allowed) > 0:
		return "one of " + strings.Join(k.Allowed, ", ")
	case k.Type == Text:
		return "UTF-8 text"
	case k.Type == Switch:
		return "true or false"
	}
	what := map[Type]string{Integer: "a whole number", Number: "a number", List: "a list of whole numbers"}[k.Type]
	if k.Rule != "" {
		what = k.Rule
	}
	low, high := number64(k.Min), number64(k.Max)
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

func number64(v float64) string {
	if v == math.Trunc(v) && v < 1<<62 {
		return strconv.FormatInt(int64(v), 10)
	}
	if v == maxSeed {
		return strconv.FormatInt(maxSeed, 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// format is the key's value as Set reads it.
func (e *entry) format(s *Settings) string {
	switch field := e.field(s).(type) {
	case *string:
		return *field
	case *bool:
		return strconv.FormatBool(*field)
	case *int:
		return strconv.Itoa(*field)
	case *int64:
		return strconv.FormatInt(*field, 10)
	case *uint64:
		return strconv.FormatUint(*field, 10)
	case *float64:
		return strconv.FormatFloat(*field, 'g', -1, 64)
	case *[]int:
		return joinInts(*field)
	}
	return ""
}

func joinInts(list []int) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = strconv.Itoa(v)
	}
	return strings.Join(parts, ",")
}

// quoted is the key's value as messages and TOML files show it.
func (e *entry) quoted(s *Settings) string {
	switch e.Type {
	case Text:
		return quoteTOML(e.format(s))
	case List:
		return "[" + strings.ReplaceAll(e.format(s), ",", ", ") + "]"
	case Number:
		return strings.ToLower(e.format(s)) // TOML's infinity is inf
	}
	return e.format(s)
}
