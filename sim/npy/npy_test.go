package npy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"prismtop/profiles/await/awaittest"
	"prismtop/sim/npy/npytest"
)

func TestEncodedArraysAreRead(t *testing.T) {
	values := []float32{0, 1, -2.5, float32(math.Inf(1)), math.SmallestNonzeroFloat32, 6}
	data, err := Encode(t.Context(), values, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(data)%64 != 4*len(values) || !IsArray(data) || IsArchive(data) {
		t.Errorf("%d bytes, %q", len(data), data)
	}
	a, err := parseStrict(data, anyKind)
	if err != nil || a.Shape.String() != "2x3" || a.Type != "<f4" {
		t.Fatalf("%+v, %v", a, err)
	}
	for i, v := range values {
		if a.Values[i] != float64(v) {
			t.Errorf("value %d is %g, want %g", i, a.Values[i], v)
		}
	}
	if _, err := Encode(awaittest.After(1), values, 2, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

func TestReadHeader(t *testing.T) {
	for _, test := range []struct {
		version byte
		text    string
		want    Header
		err     string
	}{
		{1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", Header{"<f4", false, []int64{2, 3}}, ""},
		{3, `{"shape": (4L,), "descr": ">i8", "fortran_order": True}`, Header{">i8", true, []int64{4}}, ""},
		{2, "{'descr': '|b1', 'fortran_order': False, 'shape': ()}", Header{"|b1", false, []int64{}}, ""},
		{1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,, 3)}", Header{}, "damaged NPY: the header's shape cannot be read"},
		{1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", Header{}, "damaged NPY: the header's fortran_order cannot be read"},
		{1, "{'descr': '<f4', 'flags': 0}", Header{}, `damaged NPY: the header has an unknown entry "flags"`},
		{4, "{}", Header{}, "NPY version 4: must be 1 to 3"},
	} {
		file := append([]byte(magic), test.version, 0, byte(len(test.text)))
		file = append(file, make([]byte, max(1, lengthBytes(test.version)-1))...)
		file = append(file, test.text...)
		h, n, err := ReadHeader(bytes.NewReader(append(file, "data"...)))
		if test.err != "" {
			if err == nil || err.Error() != test.err {
				t.Errorf("%q: %v, want %s", test.text, err, test.err)
			}
			continue
		}
		if err != nil || n != int64(len(file)) || !reflect.DeepEqual(h, test.want) {
			t.Errorf("%q: %+v after %d bytes of %d, %v", test.text, h, n, len(file), err)
		}
	}
}

func TestElementOf(t *testing.T) {
	bytesOf := []byte{0x80, 0x3f, 0x80, 0x3f, 0, 0, 0, 1}
	for kind, want := range map[string]float64{
		"|b1": 128, "|u1": 128, "i1": -128, "<u2": 0x3f80, ">u2": 0x803f, "<i2": 0x3f80, ">i2": 0x803f - 0x10000,
		"<u4": 0x3f803f80, "=i4": 0x3f803f80, ">i4": 0x803f803f - 0x1_0000_0000, "<u8": 0x0100_0000_3f80_3f80,
		">i8": -0x7fc0_7fc0_ffff_ffff, "<f4": float64(math.Float32frombits(0x3f803f80)), "<c8": float64(math.Float32frombits(0x3f803f80)),
		"<f8": math.Float64frombits(0x0100_0000_3f80_3f80), "c16": math.Float64frombits(0x0100_0000_3f80_3f80),
	} {
		e, known := ElementOf(kind)
		if !known || e.Complex != strings.Contains(kind, "c") {
			t.Errorf("%s: known %v, complex %v", kind, known, e.Complex)
			continue
		}
		if got := e.Read(bytesOf[:e.Size]); got != want {
			t.Errorf("%s reads %g, want %g", kind, got, want)
		}
	}
	for _, kind := range []string{"", "<", "f2", "<U7", "|O", "<<f4"} {
		if _, known := ElementOf(kind); known {
			t.Errorf("%q is known", kind)
		}
	}
}

func TestOpenArchive(t *testing.T) {
	data := npytest.Archive(someFiles()...)
	entries, err := OpenArchive(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(entries) != 4 || !IsArchive(data) {
		t.Fatalf("%d arrays, %v", len(entries), err)
	}
	if h, err := entries[0].Header(); err != nil || entries[0].Name() != "a.x" || !reflect.DeepEqual(h, Header{"<f4", false, []int64{2, 3}}) {
		t.Errorf("%s: %+v, %v", entries[0].Name(), h, err)
	}
	whole := func(r io.Reader, size int64) error {
		got, err := io.ReadAll(r)
		if int64(len(got)) != size {
			t.Errorf("%d bytes of %d", len(got), size)
		}
		return err
	}
	if err := entries[0].Read(whole); err != nil {
		t.Error(err)
	}
	part := func(r io.Reader, _ int64) error {
		_, _, err := ReadHeader(r)
		return err
	}
	if err := entries[0].Read(part); err == nil || err.Error() != "damaged NPZ: more data than the shape holds" {
		t.Errorf("an array not read to its end: %v", err)
	}
	data[bytes.Index(data, npytest.Float32s(-4))] ^= 1
	if err := entries[0].Read(func(r io.Reader, size int64) error {
		_, err := io.ReadFull(r, make([]byte, size))
		return err
	}); err == nil || err.Error() != "damaged NPZ: zip: checksum error" {
		t.Errorf("a changed byte: %v", err)
	}
}

// FuzzReadHeader feeds anything: it must not panic, nor read more than there is.
func FuzzReadHeader(f *testing.F) {
	for _, file := range someFiles() {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, n, err := ReadHeader(bytes.NewReader(data))
		if err == nil && n > int64(len(data)) {
			t.Fatalf("%d bytes read of %d", n, len(data))
		}
	})
}
