package npy

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/await/awaittest"
	"prismtop/sim/npy/npytest"
)

// The archives that are written are those that NumPy writes, to the strict reader too.
func TestWrittenArchivesAreRead(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file)
	nan := math.Float32frombits(0x7fc00123)
	if err := errors.Join(
		Add(w, "a.b", []int{2, 2}, []float32{1, nan, float32(math.Inf(-1)), math.SmallestNonzeroFloat32}),
		Add(w, "one", nil, []float64{math.Pi}),
		Add(w, "pair", []int{1}, []complex64{complex(nan, -2)}),
		Add(w, "text", []int{3}, []uint8("abc")),
		w.Close(),
	); err != nil {
		t.Fatal(err)
	}
	var alone bytes.Buffer
	if err := Write(&alone, []int{3}, []uint8("abc")); err != nil || !bytes.HasSuffix(file.Bytes()[:bytes.Index(file.Bytes(), []byte("abc"))+3], alone.Bytes()) {
		t.Errorf("an array by itself is %q (%v)", alone.Bytes(), err)
	}
	strict, damaged, err := ReadStrict(t.Context(), file.Bytes(), func(string) error { return nil })
	if err != nil || len(damaged) != 0 || len(strict) != 4 || strict["one"].Values[0] != math.Pi {
		t.Fatalf("%v, damaged %v: %v", strict, damaged, err)
	}
	entries, err := OpenArchive(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil || len(entries) != 4 {
		t.Fatalf("%d arrays, %v", len(entries), err)
	}
	all := func(Header) error { return nil }
	h, data, err := entries[0].Load(t.Context(), all)
	if err != nil || entries[0].Name() != "a.b" || h.Type != "<f4" || !slices.Equal(h.Shape, []int64{2, 2}) || !entries[0].Stored() {
		t.Fatalf("%s: %+v, %v", entries[0].Name(), h, err)
	}
	if want := npytest.Float32s(1, nan, float32(math.Inf(-1)), math.SmallestNonzeroFloat32); !bytes.Equal(data, want) {
		t.Errorf("the data are %x, want %x", data, want)
	}
	if h, data, err := entries[2].Load(t.Context(), all); err != nil || h.Type != "<c8" || !bytes.Equal(data, npytest.Float32s(nan, -2)) {
		t.Errorf("the complex number is %x of %s, %v", data, h.Type, err)
	}
	if _, text, err := entries[3].Load(t.Context(), all); string(text) != "abc" || err != nil {
		t.Errorf("the text is %q, %v", text, err)
	}
	refused := errors.New("refused")
	if _, _, err := entries[0].Load(t.Context(), func(Header) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a refused array: %v", err)
	}
	if _, _, err := entries[0].Load(awaittest.After(1), all); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

// A shape that does not fit the data is an error before memory is allocated for it.
func TestLoadBelievesNoShape(t *testing.T) {
	for shape, want := range map[string]string{
		"1000000000000,":           "damaged NPZ: 4 bytes of data, must be 4000000000000 for the shape (1000000000000)",
		"4611686018427387904, 4, ": "that are not supported",
		"":                         "",
		"1, 1":                     "",
		"0,":                       "damaged NPZ: 4 bytes of data, must be 0 for the shape (0)",
	} {
		file := npytest.Archive(npytest.File{Name: "x", Data: npytest.Array("<f4", shape, npytest.Float32s(1))})
		entries, err := OpenArchive(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = entries[0].Load(t.Context(), func(Header) error { return nil })
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("(%s): %v, want %q", shape, err, want)
		}
	}
}
