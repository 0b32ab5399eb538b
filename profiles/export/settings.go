package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"prismtop/profiles/preset"
)

// Settings is preset.Settings as a JSON object with the keys' names, in their
// order. Numbers and switches are JSON's, lists are arrays.
type Settings preset.Settings

// MarshalJSON implements json.Marshaler.
func (s *Settings) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range preset.Keys() {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := encode(k, plain(k, (*preset.Settings)(s)))
		if err != nil {
			return nil, fmt.Errorf("setting %q: %w", k.Name, err)
		}
		fmt.Fprintf(&b, "%q:%s", k.Name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// plain is a key's value as Get says it; of a suspended threshold the number.
func plain(k preset.Key, s *preset.Settings) string {
	value := s.Get(k.Name)
	if k.Name == "threshold" {
		value, _ = preset.ThresholdText(value)
	}
	return value
}

// encode is a key's value, as Get says it, in JSON.
func encode(k preset.Key, value string) ([]byte, error) {
	switch k.Type {
	case preset.Text:
		return json.Marshal(value)
	case preset.List:
		value = "[" + value + "]"
	}
	if !json.Valid([]byte(value)) {
		return nil, fmt.Errorf("%s is no JSON value", value)
	}
	return []byte(value), nil
}

// UnmarshalJSON implements json.Unmarshaler. Unknown keys and values that a
// setting may not have are errors.
func (s *Settings) UnmarshalJSON(data []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	var read preset.Settings
	for name, raw := range values {
		value := string(raw)
		if strings.HasPrefix(value, `"`) {
			if err := json.Unmarshal(raw, &value); err != nil {
				return err
			}
		}
		if err := read.Set(name, value); err != nil {
			return err
		}
	}
	*s = Settings(read)
	return nil
}
