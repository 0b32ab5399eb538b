package verify

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"

	"prismtop/profiles/export/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Check(t, schematest.Document{Name: "verify", Title: "prismtop verify --json", Value: verdict{},
		Special: map[reflect.Type]func(func(reflect.Type) schematest.Schema) schematest.Schema{
			reflect.TypeFor[number](): func(func(reflect.Type) schematest.Schema) schematest.Schema {
				return schematest.Schema{"type": []string{"number", "null"}}
			},
		}})
	reports := []Report{
		{File: "a.npz", OK: true, Cases: []string{"conv2d conv_a"}, Results: []Result{{Array: "y", Error: 1e-7, Allowed: 1e-5, OK: true}, {Array: "z", Error: number(math.NaN()), Note: "shapes differ"}}},
		{File: "b.npz", Err: errors.New("no such file").Error()},
	}
	var b bytes.Buffer
	if err := WriteJSON(&b, "cpu avx512", reports); err != nil {
		t.Fatal(err)
	}
	if err := schematest.Validate("verify", b.Bytes()); err != nil {
		t.Error(err)
	}
}
