package settings

import (
	"fmt"
	"reflect"
)

// tag names the key of a field: `setting:"size"`.
const tag = "setting"

// Decode copies the values into the fields of the struct that into points to, each by the key
// in its tag: strings, bools, integers, float64 and []int. It panics if a field's key is not
// in the table or has another type, which is a programming error.
func (v Values) Decode(into any) {
	eachField(into, func(key string, field reflect.Value) {
		value := v.Value(key)
		switch n := value.(type) {
		case string:
			field.SetString(n)
		case bool:
			field.SetBool(n)
		case float64:
			field.SetFloat(n)
		case []int64:
			list := make([]int, len(n))
			for i := range n {
				list[i] = int(n[i])
			}
			field.Set(reflect.ValueOf(list))
		case int64:
			if field.CanUint() {
				field.SetUint(uint64(n))
			} else {
				field.SetInt(n)
			}
		default:
			panic(fmt.Sprintf("settings: a field is for %q, which %s does not have", key, v.table.Workload))
		}
	})
}

// Encode is the inverse of Decode: it returns the values of a struct, or of a pointer to one.
// Keys without a field are zero. Nothing is checked: see Validate.
func (t *Table) Encode(from any) Values {
	v := t.Zero()
	eachField(from, func(key string, field reflect.Value) {
		i := t.at(key)
		switch {
		case i < 0:
			panic(fmt.Sprintf("settings: a field is for %q, which %s does not have", key, t.Workload))
		case field.Kind() == reflect.String:
			v.values[i] = field.String()
		case field.Kind() == reflect.Bool:
			v.values[i] = field.Bool()
		case field.CanUint():
			v.values[i] = int64(field.Uint())
		case field.CanInt():
			v.values[i] = field.Int()
		case field.CanFloat() && t.keys[i].of != nil:
			v.values[i] = boundNumber{Number: field.Float()}
		case field.CanFloat():
			v.values[i] = field.Float()
		default:
			list := make([]int64, field.Len())
			for k := range list {
				list[k] = field.Index(k).Int()
			}
			v.values[i] = list
		}
	})
	return v.refreshed()
}

// eachField calls f with every field of a struct that has a tag.
func eachField(of any, f func(key string, field reflect.Value)) {
	s := reflect.Indirect(reflect.ValueOf(of))
	for i := range s.NumField() {
		if key, ok := s.Type().Field(i).Tag.Lookup(tag); ok {
			f(key, s.Field(i))
		}
	}
}
