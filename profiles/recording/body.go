package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// The bodies of events other than iterations are stored as JSON objects whose keys are the names of
// their Go fields. Fields that are zero are left out, and numbers that JSON lacks are the texts NaN,
// Infinity and -Infinity. Settings are objects of texts: those that
// differ from those of the Begin or Changed before it in the same piece, and all of them if there is none.

// names are the kinds of events in a block. A name, once used, keeps its meaning.
var names = map[reflect.Type]string{
	reflect.TypeFor[profiles.Begin]():          "begin",
	reflect.TypeFor[profiles.Grown]():          "grown",
	reflect.TypeFor[profiles.Changed]():        "changed",
	reflect.TypeFor[profiles.Moved]():          "moved",
	reflect.TypeFor[profiles.Next]():           "next",
	reflect.TypeFor[profiles.StateChange]():    "state",
	reflect.TypeFor[profiles.Measurement]():    "measurement",
	reflect.TypeFor[profiles.UnitResult]():     "unit",
	reflect.TypeFor[profiles.Ended]():          "ended",
	reflect.TypeFor[profiles.Answer]():         "answer",
	reflect.TypeFor[profiles.LogEntry]():       "log",
	reflect.TypeFor[profiles.Note]():           "note",
	reflect.TypeFor[profiles.Picture]():        "picture",
	reflect.TypeFor[profiles.Memory]():         "memory",
	reflect.TypeFor[profiles.LayerTimes]():     "layers",
	reflect.TypeFor[profiles.Ablation]():       "ablation",
	reflect.TypeFor[profiles.Fork]():           "fork",
	reflect.TypeFor[profiles.Tasks]():          "tasks",
	reflect.TypeFor[profiles.Output]():         "output",
	reflect.TypeFor[profiles.Ranks]():          "ranks",
	reflect.TypeFor[profiles.Resident]():       "resident",
	reflect.TypeFor[profiles.Sensors]():        "sensors",
	reflect.TypeFor[profiles.Load]():           "load",
	reflect.TypeFor[profiles.RecordingState](): "recording",
}

var beginType = reflect.TypeFor[profiles.Begin]()

// bodies are the types by name.
var bodies = func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for t, name := range names {
		types[name] = t
	}
	return types
}()

// nameOf returns the name of a body's kind; empty for one that is not recorded.
func nameOf(b profiles.Body) string { return names[reflect.TypeOf(b).Elem()] }

var valuesType = reflect.TypeFor[settings.Values]()

// packed returns a value in a form that encoding/json writes. inForce are the settings from which
// others are told apart.
func packed(v reflect.Value, inForce settings.Values) any {
	if v.Type() == valuesType {
		return packedSettings(v.Interface().(settings.Values), inForce)
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		switch f := v.Float(); {
		case math.IsNaN(f):
			return "NaN"
		case math.IsInf(f, 1):
			return "Infinity"
		case math.IsInf(f, -1):
			return "-Infinity"
		}
	case reflect.Uint8: // a direction or a kind has a word in JSON, and a number here
		return v.Uint()
	case reflect.Pointer:
		return packed(v.Elem(), inForce)
	case reflect.Struct:
		object := map[string]any{}
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				object[v.Type().Field(i).Name] = packed(f, inForce)
			}
		}
		return object
	case reflect.Slice, reflect.Array:
		list := make([]any, written(v))
		for i := range list {
			if e := v.Index(i); e.Kind() != reflect.Pointer || !e.IsNil() {
				list[i] = packed(e, inForce)
			}
		}
		return list
	}
	return v.Interface()
}

func packedSettings(v, inForce settings.Values) map[string]string {
	keys := v.Differing(inForce)
	if !v.Table().Same(inForce.Table()) {
		keys = v.Table().Names()
	}
	object := map[string]string{}
	for _, key := range keys {
		object[key] = v.Get(key)
	}
	return object
}

// written returns how many elements of a list are written: of an array without those at its end that say nothing,
// beyond what arrays had room for in the first programs.
func written(v reflect.Value) int {
	n := v.Len()
	switch v.Type() {
	case seriesType:
		for n > profiles.SlotSeries && math.IsNaN(v.Index(n-1).Float()) {
			n--
		}
	case cachesType:
		for n > profiles.SlotCaches && v.Index(n-1).IsZero() {
			n--
		}
	}
	return n
}

var (
	seriesType = reflect.TypeFor[profiles.Values]()
	cachesType = reflect.TypeFor[[profiles.MaxCaches]int64]()
)

// tableKey is the entry of a Begin that has its table of settings, if that was read from data: no program has it in Go.
const tableKey = "Table"

// pack encodes the body of an event.
func pack(b profiles.Body, inForce settings.Values) ([]byte, error) {
	body := packed(reflect.ValueOf(b), inForce)
	if begin, ok := b.(*profiles.Begin); ok {
		if data := begin.Settings.Table().Data(); data != nil {
			body.(map[string]any)[tableKey] = json.RawMessage(data)
		}
	}
	return json.Marshal(body)
}

// unpacker decodes bodies in their order.
type unpacker struct {
	table   func(workload string) *settings.Table // nil where it is unknown
	inForce settings.Values
	schema  *profiles.Schema // of the newest start; nil before the first
}

// unpack decodes a body. Fields that this version does not know are ignored.
func (u *unpacker) unpack(name string, data []byte) (body profiles.Body, err error) {
	t, ok := bodies[name]
	if !ok {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var read map[string]any
	if err := d.Decode(&read); err != nil {
		return nil, fmt.Errorf("event %s: %w", name, err)
	}
	if name == "begin" {
		if u.inForce, err = u.empty(read); err != nil {
			return nil, fmt.Errorf("event %s: %w", name, err)
		}
	}
	v := reflect.New(t)
	if err := u.fill(v.Elem(), read); err != nil {
		return nil, fmt.Errorf("event %s: %w", name, err)
	}
	b := v.Interface().(profiles.Body)
	if err := sensible(b); err != nil {
		return nil, fmt.Errorf("event %s: %w", name, err)
	}
	switch b := b.(type) {
	case *profiles.Begin:
		u.inForce, u.schema = b.Settings, &b.Info.Schema
	case *profiles.Grown:
		u.schema = &b.Schema
	case *profiles.Changed:
		u.inForce = b.Settings
	}
	return b, nil
}

// sensible returns why the body of an event cannot be used: it refers to what records have no room for.
func sensible(b profiles.Body) error {
	switch b := b.(type) {
	case *profiles.Begin:
		return b.Info.Schema.Check()
	case *profiles.Grown:
		return b.Schema.Check()
	case *profiles.Tasks:
		return b.Check()
	case *profiles.Ranks:
		return b.Check()
	case *profiles.Ended:
		return b.Check()
	case *profiles.LayerTimes:
		for _, l := range b.Layers {
			if l.Phase >= profiles.MaxPhases {
				return fmt.Errorf("layer %q belongs to phase %d: must be below %d", l.Name, l.Phase, profiles.MaxPhases)
			}
		}
	}
	return nil
}

// own decodes the cost of watching.
func (u *unpacker) own(data []byte, into *profiles.OwnCost) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var read any
	if err := d.Decode(&read); err != nil {
		return fmt.Errorf("a tick: %w", err)
	}
	return u.fill(reflect.ValueOf(into).Elem(), read)
}

// empty returns settings without values for the workload of a Begin: those of its own table, or of the program's. For
// one that this program does not have, types are inferred from the values.
func (u *unpacker) empty(begin map[string]any) (settings.Values, error) {
	if read, ok := begin[tableKey]; ok {
		data, err := json.Marshal(read)
		if err != nil {
			return settings.Values{}, err
		}
		t, err := settings.ReadTable(data)
		if err != nil {
			return settings.Values{}, err
		}
		if t.Same(u.inForce.Table()) { // a restart
			t = u.inForce.Table()
		}
		return t.Zero(), nil
	}
	info, _ := begin["Info"].(map[string]any)
	schema, _ := info["Schema"].(map[string]any)
	workload, _ := schema["Workload"].(string)
	if u.table != nil {
		if t := u.table(workload); t != nil {
			return t.Zero(), nil
		}
	}
	values, _ := begin["Settings"].(map[string]any)
	inferred := map[string]any{}
	for key, value := range values {
		text, _ := value.(string)
		inferred[key] = text
		if json.Valid([]byte(text)) {
			inferred[key] = json.RawMessage(text)
		}
	}
	var v settings.Values
	if data, err := json.Marshal(inferred); err != nil || v.UnmarshalJSON(data) != nil {
		return settings.Values{}, nil
	}
	return v, nil
}

// fill sets v to a decoded value.
func (u *unpacker) fill(v reflect.Value, read any) error {
	if v.Type() == valuesType {
		v.Set(reflect.ValueOf(u.settings(read)))
		return nil
	}
	if read == nil {
		return nil
	}
	mismatch := fmt.Errorf("%v is no %v", read, v.Type())
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return u.fill(v.Elem(), read)
	case reflect.Struct:
		object, ok := read.(map[string]any)
		if !ok {
			return mismatch
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if value, ok := object[name]; ok {
				if err := u.fill(v.Field(i), value); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	case reflect.Slice, reflect.Array:
		list, ok := read.([]any)
		if !ok {
			return mismatch
		}
		switch {
		case v.Kind() == reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		case v.Type() == seriesType:
			v.Set(reflect.ValueOf(profiles.NoValues()))
		}
		for i := range min(v.Len(), len(list)) {
			if err := u.fill(v.Index(i), list[i]); err != nil {
				return err
			}
		}
	case reflect.String:
		text, ok := read.(string)
		if !ok {
			return mismatch
		}
		v.SetString(text)
	case reflect.Bool:
		on, ok := read.(bool)
		if !ok {
			return mismatch
		}
		v.SetBool(on)
	default:
		return fillNumber(v, fmt.Sprint(read))
	}
	return nil
}

func fillNumber(v reflect.Value, text string) error {
	switch {
	case v.CanFloat():
		n, err := strconv.ParseFloat(text, 64)
		v.SetFloat(n)
		return err
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
		return err
	case v.CanUint():
		n, err := strconv.ParseUint(text, 10, 64)
		v.SetUint(n)
		return err
	}
	return fmt.Errorf("%s is no %v", text, v.Type())
}

// settings returns the settings in force with others in their place. Keys and values that this
// version does not know are ignored.
func (u *unpacker) settings(read any) settings.Values {
	v := u.inForce
	object, _ := read.(map[string]any)
	for _, key := range v.Table().Names() {
		if text, ok := object[key].(string); ok {
			if next, err := v.Set(key, text); err == nil {
				v = next
			}
		}
	}
	return v.Settled()
}
