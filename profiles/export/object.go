package export

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object under construction, whose fields keep their order.
type object struct {
	b   bytes.Buffer
	err error
}

// add writes a field, and its reason if there is one.
func (o *object) add(name string, value any, reason string) {
	o.field(name, value)
	if reason != "" {
		o.field(name+"_reason", reason)
	}
}

func (o *object) field(name string, value any) {
	if o.err != nil {
		return
	}
	before := byte('{')
	if o.b.Len() > 0 {
		before = ','
	}
	o.b.WriteByte(before)
	for i, part := range []any{name, value} {
		if i > 0 {
			o.b.WriteByte(':')
		}
		text, err := json.Marshal(part)
		if err != nil {
			o.err = err
			return
		}
		o.b.Write(text)
	}
}

// bytes ends the object.
func (o *object) bytes() ([]byte, error) {
	if o.b.Len() == 0 {
		o.b.WriteByte('{')
	}
	o.b.WriteByte('}')
	return o.b.Bytes(), o.err
}

// MarshalJSON writes an object of phases.
func (p Phases) MarshalJSON() ([]byte, error) {
	var o object
	for _, v := range p {
		o.add(v.Name, v.Phase, v.Reason)
	}
	return o.bytes()
}

// MarshalJSON writes an object of caches, null for none.
func (c Caches) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("null"), nil
	}
	var o object
	for i := range c {
		o.add(c[i].Name, &c[i].Cache, "")
	}
	return o.bytes()
}

// MarshalJSON writes an object of numbers.
func (v Values) MarshalJSON() ([]byte, error) {
	var o object
	for _, x := range v {
		o.add(x.Name, x.Number, x.Reason)
	}
	return o.bytes()
}
