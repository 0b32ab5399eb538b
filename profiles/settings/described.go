package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"prismtop/profiles/visible"
)

// A described table is read from JSON instead of being declared in Go, so that it can come from another process,
// and from a recording of a workload that this program does not have. docs/data-model.md has an example.

// Limits of a described table.
const (
	MostSettings = 96
	mostValues   = 64      // of a text
	mostPresses  = 4       // of a setting
	LongestName  = 32      // bytes of a name
	LongestText  = 400     // bytes of a sentence
	largestTable = 1 << 18 // bytes
)

type writtenTable struct {
	Workload string       `json:"workload"`
	Settings []writtenKey `json:"settings"`
	Roles    Roles        `json:"roles,omitzero"`
}

type writtenKey struct {
	Group      string            `json:"group,omitempty"`
	Name       string            `json:"name"`
	Help       string            `json:"help,omitempty"`
	Unit       string            `json:"unit,omitempty"`
	Type       Type              `json:"type"`
	Value      json.RawMessage   `json:"value,omitempty"`
	Allowed    []string          `json:"allowed,omitempty"`
	Only       string            `json:"only,omitempty"`
	Min        *float64          `json:"min,omitempty"`
	Max        *float64          `json:"max,omitempty"`
	Above      bool              `json:"above,omitempty"`
	Live       bool              `json:"live,omitempty"`
	Fixed      string            `json:"fixed,omitempty"`
	Limit      bool              `json:"limit,omitempty"`
	Revertible bool              `json:"revertible,omitempty"`
	Optional   bool              `json:"optional,omitempty"`
	Without    string            `json:"without,omitempty"`
	Price      Price             `json:"price,omitempty"`
	Idle       []Idle            `json:"idle,omitempty"`
	Empty      string            `json:"empty,omitempty"`
	Zero       string            `json:"zero,omitempty"`
	Short      string            `json:"short,omitempty"`
	Mark       string            `json:"mark,omitempty"`
	Key        string            `json:"key,omitempty"`
	Presses    []writtenPress    `json:"presses,omitempty"`
	Foremost   int               `json:"foremost,omitempty"`
	Notes      map[string]string `json:"notes,omitempty"`
	Listed     int               `json:"listed,omitempty"`
	Compared   *writtenCompared  `json:"compared,omitempty"`
	Touches    *[]string         `json:"touches,omitempty"`
	Suspended  string            `json:"suspended,omitempty"`
}

type writtenPress struct {
	Key  string `json:"key"`
	Help string `json:"help,omitempty"`
	Does Move   `json:"does,omitempty"`
}

type writtenCompared struct {
	Pairs      []Pair `json:"pairs"`
	Place      int    `json:"place,omitempty"`
	Factor     string `json:"factor,omitempty"`
	FactorOn   string `json:"factor_on,omitempty"`
	Everything bool   `json:"everything,omitempty"`
}

// The words of types, moves and prices in JSON.
var (
	typeWords = []string{TypeText: "text", TypeSwitch: "switch", TypeInteger: "integer", TypeNumber: "number",
		TypeList: "list"}
	moveWords  = []string{MoveNext: "next", MoveBefore: "before", MoveWrite: "write", MoveToggle: "toggle"}
	priceWords = []string{Cheap: "cheap", Dear: "dear", Epoch: "epoch"}
)

// wordIn returns the index of a word.
func wordIn(words []string, text []byte) (int, error) {
	if i := slices.Index(words, string(text)); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%q: must be one of %s", visible.Text(string(text)), strings.Join(words, ", "))
}

// MarshalText returns the type's word.
func (t Type) MarshalText() ([]byte, error) { return []byte(typeWords[t]), nil }

// UnmarshalText reads the type's word.
func (t *Type) UnmarshalText(text []byte) error {
	i, err := wordIn(typeWords, text)
	*t = Type(i)
	return err
}

// MarshalText returns the move's word.
func (m Move) MarshalText() ([]byte, error) { return []byte(moveWords[m]), nil }

// UnmarshalText reads the move's word.
func (m *Move) UnmarshalText(text []byte) error {
	i, err := wordIn(moveWords, text)
	*m = Move(i)
	return err
}

// MarshalText returns the price's word.
func (p Price) MarshalText() ([]byte, error) { return []byte(priceWords[p]), nil }

// UnmarshalText reads the price's word.
func (p *Price) UnmarshalText(text []byte) error {
	i, err := wordIn(priceWords, text)
	*p = Price(i)
	return err
}

// Data returns the JSON that the table was read from, in its shortest form; nil for a table that is declared in Go.
func (t *Table) Data() []byte {
	if t == nil {
		return nil
	}
	return t.data
}

// Same reports whether two tables are one, or were read from the same data.
func (t *Table) Same(u *Table) bool {
	return t == u || len(t.Data()) > 0 && bytes.Equal(t.Data(), u.Data())
}

// MarshalJSON returns the table as ReadTable reads it. A table with rules that only Go can express, those of
// NewTable, Entry.Rule, Entry.Idle and Entry.Of, is an error that names the setting.
func (t *Table) MarshalJSON() ([]byte, error) {
	if t.data != nil {
		return t.data, nil
	}
	if t.rules != nil {
		return nil, fmt.Errorf("the settings of %s have rules that involve several of them", t.Workload)
	}
	w := writtenTable{Workload: t.Workload, Roles: t.roles}
	for i := range t.keys {
		k := &t.keys[i]
		if k.holds != nil || k.of != nil || k.idle != nil {
			return nil, fmt.Errorf("the setting %s of %s has a rule that is written in Go", k.Name, t.Workload)
		}
		w.Settings = append(w.Settings, k.written())
	}
	return json.Marshal(&w)
}

// Described returns the table as read from its own JSON, so that a recording carries it. initial are the values that
// a run begins with; none if they have no table.
func (t *Table) Described(initial Values) (*Table, error) {
	data, err := t.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var w writtenTable
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, err
	}
	for i := range w.Settings {
		if j := initial.table.at(w.Settings[i].Name); j >= 0 {
			if w.Settings[i].Value, err = encode(initial.values[j]); err != nil {
				return nil, err
			}
		}
	}
	if data, err = json.Marshal(&w); err != nil {
		return nil, err
	}
	return ReadTable(data)
}

// Initial returns the values that a described table has for a run to begin with: where it has none, the first that is
// allowed, or that is nearest to 0.
func (t *Table) Initial() Values {
	v := t.Zero()
	for i := range t.keys {
		switch k := &t.keys[i]; {
		case i < len(t.initial) && t.initial[i] != nil:
			v.values[i] = t.initial[i]
		case k.Type == TypeText && len(k.Allowed) > 0:
			v.values[i] = k.Allowed[0]
		case k.Type == TypeInteger:
			v.values[i] = int64(min(max(0, k.Min), k.Max))
		case k.Type == TypeNumber && k.of == nil:
			v.values[i] = min(max(0, k.Min), k.Max)
		}
	}
	return v
}

func (k *Key) written() writtenKey {
	w := writtenKey{
		Group: k.Group, Name: k.Name, Help: k.Help, Unit: k.Unit, Type: k.Type, Allowed: k.Allowed, Only: k.Only,
		Above: k.Above,
		Live:  k.Live, Limit: k.Limit, Revertible: k.Revertible, Optional: k.Optional, Without: k.Without,
		Price: k.Price, Idle: k.Idles, Empty: k.Empty, Zero: k.Zero,
		Short: k.Short, Foremost: k.Foremost, Notes: k.Notes, Listed: k.Listed, Suspended: k.Suspended,
	}
	if k.Fixed != readAtStart {
		w.Fixed = k.Fixed
	}
	if k.Mark != 0 {
		w.Mark = string(k.Mark)
	}
	if k.ranged() {
		if !math.IsInf(k.Min, 0) {
			w.Min = &k.Min
		}
		if !math.IsInf(k.Max, 0) {
			w.Max = &k.Max
		}
	}
	for _, p := range k.Presses {
		w.Presses = append(w.Presses, writtenPress(p))
	}
	if c := &k.Compared; len(c.Pairs) > 0 {
		w.Compared = &writtenCompared{c.Pairs, c.Place, c.Factor, c.FactorOn, c.Everything}
	}
	if k.TouchesKnown {
		touches := append([]string{}, k.Touches...)
		w.Touches = &touches
	}
	return w
}

// ranged reports whether the key has numbers, which Min and Max bound.
func (k *Key) ranged() bool {
	return k.Type == TypeInteger || k.Type == TypeNumber || k.Type == TypeList
}

// ReadTable reads a table of settings from JSON: see docs/data-model.md. An error names the setting and says what would
// be right.
func ReadTable(data []byte) (*Table, error) {
	if len(data) > largestTable {
		return nil, fmt.Errorf("a table of settings of %d bytes: must be at most %d", len(data), largestTable)
	}
	var w writtenTable
	if err := decodeStrictly(data, &w); err != nil {
		return nil, fmt.Errorf("a table of settings: %w", err)
	}
	if err := CheckName(w.Workload); err != nil {
		return nil, fmt.Errorf("the workload of a table of settings: %w", err)
	}
	if len(w.Settings) > MostSettings {
		return nil, fmt.Errorf("the workload %s has %d settings: must be at most %d", w.Workload, len(w.Settings),
			MostSettings)
	}
	entries := make([]Entry, len(w.Settings))
	names := map[string]bool{}
	for i := range w.Settings {
		k := &w.Settings[i]
		err := CheckName(k.Name)
		if err == nil && names[k.Name] {
			err = errors.New("is there twice")
		}
		if err == nil {
			entries[i].key, err = k.read(i)
		}
		if err != nil {
			return nil, fmt.Errorf("setting %d of %s, %q: %w", i+1, w.Workload, visible.Text(k.Name), err)
		}
		names[k.Name] = true
	}
	t := NewTable(w.Workload, nil, entries...)
	t.roles = w.Roles
	if err := t.checkRoles(); err != nil {
		return nil, fmt.Errorf("the settings of %s: %w", t.Workload, err)
	}
	if err := t.readValues(w.Settings); err != nil {
		return nil, err
	}
	var err error
	t.data, err = json.Marshal(&w)
	return t, err
}

// decodeStrictly decodes one JSON value without unknown fields.
func decodeStrictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s", visible.Text(err.Error()))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its JSON")
	}
	return nil
}

// CheckName returns why a name of a setting, or of an entry of a schema, cannot be a key in files, JSON and on the
// command line; nil if it can.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("has no name")
	case len(name) > LongestName:
		return fmt.Errorf("a name of %d bytes: must be at most %d", len(name), LongestName)
	}
	for i, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || !('0' <= r && r <= '9') && r != '_' && r != '-') {
			return errors.New("a name must be letters, digits, _ and -, after a letter")
		}
	}
	return nil
}

// CheckText returns why a text that a screen shows cannot be used: it is longer than a number of bytes, or has
// characters that do not print.
func CheckText(what, text string, most int) error {
	switch {
	case len(text) > most:
		return fmt.Errorf("%s has %d bytes: must be at most %d", what, len(text), most)
	case visible.Text(text) != text:
		return fmt.Errorf("%s has characters that do not print: %q", what, text)
	}
	return nil
}

// read returns the key, the i-th of its table.
func (w *writtenKey) read(i int) (Key, error) {
	k := Key{
		Group: w.Group, Name: w.Name, Help: w.Help, Unit: w.Unit, Type: w.Type, Allowed: w.Allowed, Only: w.Only,
		Above: w.Above,
		Live:  w.Live, Fixed: w.Fixed, Limit: w.Limit, Revertible: w.Revertible, Optional: w.Optional,
		Without: w.Without, Price: w.Price, Idles: w.Idle, Empty: w.Empty, Zero: w.Zero,
		Short: w.Short, Foremost: w.Foremost, Notes: w.Notes, Listed: w.Listed, Suspended: w.Suspended,
	}
	for _, text := range []struct {
		what, text string
		most       int
	}{
		{"its group", w.Group, LongestText}, {"its help", w.Help, LongestText}, {"its unit", w.Unit, LongestName},
		{"only", w.Only, LongestText}, {"fixed", w.Fixed, LongestText}, {"empty", w.Empty, LongestName},
		{"zero", w.Zero, LongestName}, {"short", w.Short, LongestName},
		{"suspended", w.Suspended, LongestText},
	} {
		if err := CheckText(text.what, text.text, text.most); err != nil {
			return k, err
		}
	}
	for _, check := range []func(*writtenKey, *Key) error{(*writtenKey).readRange, (*writtenKey).readAllowed,
		(*writtenKey).readComparison, (*writtenKey).readScreen} {
		if err := check(w, &k); err != nil {
			return k, err
		}
	}
	if w.Key != "" {
		k.Presses = append(k.Presses, k.wished(w.Key))
		k.Foremost = cmp.Or(k.Foremost, i+1)
	}
	return k, nil
}

// readRange reads the bounds of numbers.
func (w *writtenKey) readRange(k *Key) error {
	if !k.ranged() {
		if w.Min != nil || w.Max != nil || w.Above {
			return fmt.Errorf("a %s has no range", typeWords[k.Type])
		}
		return nil
	}
	k.Min, k.Max = math.Inf(-1), math.Inf(1)
	if k.Type == TypeInteger || k.Type == TypeList {
		k.Min, k.Max = -MaxInteger, MaxInteger
	}
	if k.Type == TypeList {
		k.Min = 0
	}
	if w.Min != nil {
		k.Min = *w.Min
	}
	if w.Max != nil {
		k.Max = *w.Max
	}
	if k.Min > k.Max || k.Above && k.Min == k.Max {
		return fmt.Errorf("a range from %g to %g: is empty", k.Min, k.Max)
	}
	return nil
}

// readAllowed reads the values of a text, and what they mean.
func (w *writtenKey) readAllowed(k *Key) error {
	if len(w.Allowed) > 0 && k.Type != TypeText {
		return fmt.Errorf("a %s has no allowed values", typeWords[k.Type])
	}
	if len(w.Allowed) > mostValues {
		return fmt.Errorf("%d allowed values: must be at most %d", len(w.Allowed), mostValues)
	}
	for i, v := range w.Allowed {
		if err := CheckText("an allowed value", v, LongestName); err != nil {
			return err
		}
		if slices.Contains(w.Allowed[:i], v) {
			return fmt.Errorf("the allowed value %q is there twice", v)
		}
	}
	for value, note := range w.Notes {
		if !slices.Contains(w.Allowed, value) {
			return fmt.Errorf("a note on %q, which is no allowed value", visible.Text(value))
		}
		if err := CheckText("a note", note, LongestText); err != nil {
			return err
		}
	}
	return nil
}

// readComparison reads what experiments may do with the setting.
func (w *writtenKey) readComparison(k *Key) error {
	if k.Live && k.Fixed != "" {
		return errors.New("is live, and says why it is fixed: must be one of the two")
	}
	if k.Revertible && (!k.Live || k.Price != Cheap) {
		return errors.New("is revertible: must be live, and cheap to change")
	}
	if w.Touches != nil {
		k.Touches, k.TouchesKnown = *w.Touches, true
	}
	for _, phase := range k.Touches {
		if err := CheckText("a phase that it touches", phase, LongestName); err != nil {
			return err
		}
	}
	for _, i := range k.Idles {
		if err := CheckText("why it is idle", i.Why, LongestText); err != nil {
			return err
		}
	}
	c := w.Compared
	if c == nil {
		return nil
	}
	if !k.Live || k.Price != Cheap {
		return errors.New("is compared: must be live, and cheap to change")
	}
	if len(c.Pairs) == 0 || len(c.Pairs) > mostValues {
		return fmt.Errorf("%d compared pairs: must be from 1 to %d", len(c.Pairs), mostValues)
	}
	k.Compared = Comparison{c.Pairs, c.Place, c.Factor, c.FactorOn, c.Everything}
	if c.Factor != "" {
		if err := CheckName(c.Factor); err != nil {
			return fmt.Errorf("its factor: %w", err)
		}
		if !slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.On == c.FactorOn }) {
			return fmt.Errorf("its factor is on with %q, which is not compared", visible.Text(c.FactorOn))
		}
	}
	return nil
}

// readScreen reads what the screen shows of the setting.
func (w *writtenKey) readScreen(k *Key) error {
	if w.Mark != "" {
		r, n := utf8.DecodeRuneInString(w.Mark)
		if n != len(w.Mark) || visible.Text(w.Mark) != w.Mark || r > 0x2fff {
			return fmt.Errorf("its mark %q: must be one narrow character", visible.Text(w.Mark))
		}
		k.Mark = r
	}
	if w.Key != "" && (!k.Live || len(w.Presses) > 0) {
		return errors.New("wishes a key: must be live, and have no presses besides")
	}
	if len(w.Presses) > mostPresses {
		return fmt.Errorf("%d presses: must be at most %d", len(w.Presses), mostPresses)
	}
	keys := []string{w.Key}
	for _, p := range w.Presses {
		keys = append(keys, p.Key)
		if err := CheckText("the name of a press", p.Help, LongestText); err != nil {
			return err
		}
		k.Presses = append(k.Presses, Press(p))
	}
	for _, key := range keys {
		if key != "" && (utf8.RuneCountInString(key) > 1 && key != "space" || visible.Text(key) != key) {
			return fmt.Errorf("the key %q: must be one character", visible.Text(key))
		}
	}
	return nil
}

// wished returns the press of a setting that only names a key.
func (k *Key) wished(key string) Press {
	p := Press{Key: key, Help: k.Title(), Does: MoveNext}
	if k.Type == TypeList || k.Type == TypeText && len(k.Allowed) == 0 || k.ranged() {
		p.Does = MoveWrite
	}
	return p
}

// readValues reads the initial values, and checks the others that name a setting's value.
func (t *Table) readValues(all []writtenKey) error {
	t.initial = make([]any, len(t.keys))
	v := t.Zero()
	for i := range all {
		w, k := &all[i], &t.keys[i]
		wrong := func(what string, err error) error {
			return fmt.Errorf("setting %q of %s: %s: %w", k.Name, t.Workload, what, err)
		}
		if len(w.Value) > 0 {
			read, err := readValue(w.Value)
			if err == nil {
				var with Values
				if with, err = v.Put(k.Name, read); err == nil {
					t.initial[i] = with.values[i]
				}
			}
			if err != nil {
				return wrong("its value", err)
			}
		}
		for _, p := range k.Compared.Pairs {
			for _, text := range []string{p.Off, p.On} {
				if _, err := v.Set(k.Name, text); err != nil {
					return wrong("a compared value", err)
				}
			}
			if p.Off == p.On {
				return wrong("a compared pair", fmt.Errorf("both values are %q", visible.Text(p.On)))
			}
		}
		for _, idle := range k.Idles {
			if _, err := v.Set(idle.Setting, idle.Value); err != nil {
				return wrong("when it is idle", err)
			}
		}
	}
	return nil
}

// readValue returns a value of JSON as the decoder of TOML would.
func readValue(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var read any
	if err := d.Decode(&read); err != nil {
		return nil, err
	}
	value, _, err := decoded(read)
	if list, ok := value.([]int64); ok {
		all := make([]any, len(list))
		for i, n := range list {
			all[i] = n
		}
		return all, err
	}
	return value, err
}
