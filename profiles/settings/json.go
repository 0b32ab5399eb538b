package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// MarshalJSON writes an object with the keys' names, in the table's order. Numbers and
// switches are JSON numbers and booleans, lists are arrays; a suspended number is
// written as the number.
func (v Values) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range v.Keys() {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := encode(v.values[i])
		if err != nil {
			return nil, fmt.Errorf("setting %q: %w", k.Name, err)
		}
		fmt.Fprintf(&b, "%q:%s", k.Name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode returns a value for JSON.
func encode(value any) ([]byte, error) {
	switch value.(type) {
	case string:
		return json.Marshal(value)
	case []int64:
		return []byte("[" + format(value) + "]"), nil
	}
	text := format(value)
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%s is no JSON value", text)
	}
	return []byte(text), nil
}

// UnmarshalJSON reads the output of MarshalJSON for any workload: types are inferred from the
// values, and no other property of the keys is known.
func (v *Values) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("settings must be a JSON object")
	}
	var entries []Entry
	var values []any
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var read any
		if err := d.Decode(&read); err != nil {
			return err
		}
		if slices.ContainsFunc(entries, func(e Entry) bool { return e.key.Name == name }) {
			return fmt.Errorf("setting %q: is there twice", name)
		}
		value, kind, err := decoded(read)
		if err != nil {
			return fmt.Errorf("setting %q: %w", name, err)
		}
		entries = append(entries, Entry{Key{Name: name.(string), Type: kind, Min: math.Inf(-1), Max: math.Inf(1)}})
		values = append(values, value)
	}
	*v = Values{NewTable("", nil, entries...), values}
	return nil
}

// decoded converts a JSON value to the type used by Values.
func decoded(read any) (value any, kind Type, err error) {
	switch r := read.(type) {
	case string:
		return r, TypeText, nil
	case bool:
		return r, TypeSwitch, nil
	case json.Number:
		if n, err := r.Int64(); err == nil && !strings.ContainsAny(r.String(), ".eE") {
			return n, TypeInteger, nil
		}
		n, err := r.Float64()
		return n, TypeNumber, err
	case []any:
		list := make([]int64, len(r))
		for i, entry := range r {
			n, _ := entry.(json.Number)
			if list[i], err = n.Int64(); err != nil {
				return nil, TypeList, fmt.Errorf("%v: must be whole numbers", r)
			}
		}
		return list, TypeList, nil
	}
	return nil, TypeText, fmt.Errorf("%v: must be text, a number, true, false or a list", read)
}
