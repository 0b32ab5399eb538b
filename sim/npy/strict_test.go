package npy

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"

	"prismtop/sim/npy/npytest"
)

// goArchive writes files by archive/zip: sizes in trailers, packed or not.
func goArchive(t testing.TB, method uint16, files ...npytest.File) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		part, err := w.CreateHeader(&zip.FileHeader{Name: f.Name + ".npy", Method: method})
		if err == nil {
			_, err = part.Write(f.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func anyKind(string) error { return nil }

// numbers is how many numbers an array's shape and type ask for.
func numbers(a *Array) int {
	if a.Complex {
		return 2 * a.Shape.Elements()
	}
	return a.Shape.Elements()
}

func someFiles() []npytest.File {
	return []npytest.File{
		{Name: "a.x", Data: npytest.Array("<f4", "2, 3", npytest.Float32s(1, 2, 3, -4, 5, 6))},
		{Name: "a.y_64", Data: npytest.Array("<c16", "1,", npytest.Float64s(0.5, -0.25))},
		{Name: "mask", Data: npytest.Array("|u1", "4,", []byte{0, 1, 1, 0})},
		{Name: "radius", Data: npytest.Array("<f8", "", npytest.Float64s(6))},
	}
}

func TestReadStrict(t *testing.T) {
	for name, data := range map[string][]byte{
		"as numpy writes it":    npytest.Archive(someFiles()...),
		"stored, with trailers": goArchive(t, zip.Store, someFiles()...),
		"packed":                goArchive(t, zip.Deflate, someFiles()...),
	} {
		t.Run(name, func(t *testing.T) {
			arrays, damaged, err := ReadStrict(t.Context(), data, anyKind)
			if err != nil || damaged != nil {
				t.Fatal(err, damaged)
			}
			if x := arrays["a.x"]; x == nil || x.Shape.String() != "2x3" || !reflect.DeepEqual(x.Values, []float64{1, 2, 3, -4, 5, 6}) {
				t.Errorf("a.x = %+v", x)
			}
			if y := arrays["a.y_64"]; y == nil || !y.Complex || !reflect.DeepEqual(y.Values, []float64{0.5, -0.25}) {
				t.Errorf("a.y_64 = %+v", y)
			}
			if m := arrays["mask"]; m == nil || !reflect.DeepEqual(m.Values, []float64{0, 1, 1, 0}) {
				t.Errorf("mask = %+v", m)
			}
			if r := arrays["radius"]; r == nil || len(r.Shape) != 0 || r.Values[0] != 6 {
				t.Errorf("radius = %+v", r)
			}
		})
	}
}

// TestNoByteChangesUnnoticed changes each byte of an archive in two ways.
func TestNoByteChangesUnnoticed(t *testing.T) {
	for name, data := range map[string][]byte{
		"as numpy writes it":    npytest.Archive(someFiles()...),
		"stored, with trailers": goArchive(t, zip.Store, someFiles()...),
	} {
		t.Run(name, func(t *testing.T) {
			for i := range data {
				for _, flip := range []byte{0x01, 0xff} {
					changed := bytes.Clone(data)
					changed[i] ^= flip
					if _, damaged, err := ReadStrict(t.Context(), changed, anyKind); err == nil && len(damaged) == 0 {
						t.Errorf("byte %d of %d, %02x to %02x: unnoticed", i, len(data), data[i], changed[i])
					}
				}
			}
			for _, cut := range []int{0, 1, 21, 22, len(data) / 2, len(data) - 1} {
				if _, damaged, err := ReadStrict(t.Context(), data[:cut], anyKind); err == nil && len(damaged) == 0 {
					t.Errorf("cut to %d of %d bytes: unnoticed", cut, len(data))
				}
			}
			if _, _, err := ReadStrict(t.Context(), append(bytes.Clone(data), 0), anyKind); err == nil {
				t.Error("a byte too many: unnoticed")
			}
		})
	}
}

// TestPackedBytesKeepTheirMeaning allows an unnoticed change only where it
// changes no array: the spare bits that end a packed stream.
func TestPackedBytesKeepTheirMeaning(t *testing.T) {
	data := goArchive(t, zip.Deflate, someFiles()...)
	want, _, err := ReadStrict(t.Context(), data, anyKind)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 0x01
		got, damaged, err := ReadStrict(t.Context(), changed, anyKind)
		if err == nil && len(damaged) == 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("byte %d of %d: other values, unnoticed", i, len(data))
		}
	}
}

func TestDamageNamesTheArray(t *testing.T) {
	data := npytest.Archive(someFiles()...)
	at := bytes.Index(data, npytest.Float32s(-4))
	data[at] ^= 1
	arrays, damaged, err := ReadStrict(t.Context(), data, anyKind)
	if err != nil || len(damaged) != 1 || damaged[0].Array != "a.x" || !strings.Contains(damaged[0].Error(), "its bytes have changed") {
		t.Errorf("damaged = %v, err = %v", damaged, err)
	}
	if len(arrays) != 3 {
		t.Errorf("%d sound arrays, want 3", len(arrays))
	}

	data = npytest.Archive(someFiles()...)
	data[bytes.Index(data, []byte("mask"))] ^= 1
	if _, _, err := ReadStrict(t.Context(), data, anyKind); err == nil || !strings.Contains(err.Error(), "array mask: is damaged: its header differs") {
		t.Errorf("changed name in a header: %v", err)
	}

	data = npytest.Archive(someFiles()...)
	data[bytes.LastIndex(data, []byte("mask"))-6] ^= 1
	if _, _, err := ReadStrict(t.Context(), data, anyKind); err == nil || !strings.Contains(err.Error(), "array mask: its directory entry has other attributes") {
		t.Errorf("changed attributes in the directory: %v", err)
	}
}

func TestReadStrictRefuses(t *testing.T) {
	huge := npytest.Archive(npytest.File{Name: "a", Data: npytest.Array("<f4", "1,", npytest.Float32s(1))})
	directory := bytes.Index(huge, binary.LittleEndian.AppendUint32(nil, directorySignature))
	resized := bytes.Clone(huge)
	resized[directory+24+3] ^= 0x80
	repacked := bytes.Clone(huge)
	repacked[directory+20] ^= 1
	trailing := goArchive(t, zip.Store, someFiles()...)
	trailing[bytes.Index(trailing, binary.LittleEndian.AppendUint32(nil, directorySignature))+24+3] ^= 0x80
	overlong := goArchive(t, zip.Store, someFiles()...)
	overlong[bytes.Index(overlong, binary.LittleEndian.AppendUint32(nil, directorySignature))+20+3] ^= 0x80
	for _, at := range []int{directory + 24, 22, 30 + len("a.npy") + 4} { // directory, header, zip64 field
		binary.LittleEndian.PutUint32(huge[at:], maxArray+1)
	}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not an NPZ file"},
		{"text", []byte("these are no reference vectors, though long enough"), "not an NPZ file"},
		{"two of one name", npytest.Archive(someFiles()[0], someFiles()[0]), "array a.x: is in the file twice"},
		{"a terminal's command as a name", npytest.Archive(npytest.File{Name: "a\x1b[2J", Data: npytest.Array("<f4", "1,", npytest.Float32s(1))}), `array "a\x1b[2J.npy": is no .npy array`},
		{"huge", huge, "array a: is larger than"},
		{"another size in the directory", resized, "array a: is damaged: its header differs from the directory"},
		{"another packed size in the directory", repacked, "array a: is damaged: its header differs from the directory"},
		{"another size than the trailer's", trailing, "array a.x: is damaged: the record behind its data differs from the directory"},
		{"a packed size beyond the file", overlong, "array a.x: is damaged: the directory says 2147483800 bytes, the file has"},
		{"not an array", bytes.ReplaceAll(npytest.Archive(someFiles()...), []byte("mask.npy"), []byte("mask.txt")), "array mask.txt: is no .npy array"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, _, err := ReadStrict(t.Context(), test.data, anyKind); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("ReadStrict = %v, want %q", err, test.want)
			}
		})
	}
}

func TestParseStrictRefuses(t *testing.T) {
	sound := npytest.Array("<f4", "2,", npytest.Float32s(1, 2))
	replace := func(old, new string) []byte {
		return bytes.Replace(sound, []byte(old), []byte(new), 1)
	}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not in NPY format"},
		{"magic", replace("NUMPY", "NUMPX"), "not in NPY format"},
		{"version", replace("\x01\x00v", "\x09\x00v"), "damaged NPY header"},
		{"header longer than the file", append([]byte("\x93NUMPY\x01\x00\xff\xff"), sound[10:]...), "damaged NPY header"},
		{"header without end", replace("}", " "), "numpy would not write"},
		{"big endian", replace("'<f4'", "'>f4'"), "numpy would not write"},
		{"objects", replace("'<f4'", "'|O8'"), "numpy would not write"},
		{"half floats", replace("'<f4'", "'<f2'"), "unknown type <f2"},
		{"Fortran order", npyFortran(), "Fortran order"},
		{"too few bytes", sound[:len(sound)-1], "7 bytes of data"},
		{"too many bytes", append(bytes.Clone(sound), 0), "9 bytes of data"},
		{"no elements", npytest.Array("<f4", "0,", nil), "empty or too large"},
		{"negative", npytest.Array("<f4", "-2,", nil), "numpy would not write"},
		{"product overflows", npytest.Array("<f4", "4294967296, 4294967296", nil), "empty or too large"},
		{"many axes", npytest.Array("<f4", "1, 1, 1, 1, 1, 1, 1, 1, 1", npytest.Float32s(1)), "has the shape"},
		{"two commas", npytest.Array("<f4", "2,,", npytest.Float32s(1, 2)), "has the shape"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := parseStrict(test.data, anyKind); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("parseStrict = %v, want %q", err, test.want)
			}
		})
	}
}

// An element type is rejected before its data are read.
func TestReadStrictAsksForTypes(t *testing.T) {
	refusal := errors.New("no floats")
	arrays, damaged, err := ReadStrict(t.Context(), npytest.Archive(someFiles()...), func(kind string) error {
		if kind == "<f4" {
			return refusal
		}
		return nil
	})
	if err != nil || len(arrays) != 3 || len(damaged) != 1 || damaged[0] != (Damage{"a.x", refusal}) {
		t.Errorf("%d arrays, damaged %v, %v", len(arrays), damaged, err)
	}
}

func npyFortran() []byte {
	b := npytest.Array("<f4", "1, 1", npytest.Float32s(1))
	return bytes.Replace(bytes.Replace(b, []byte("False"), []byte("True"), 1), []byte(", }"), []byte(", } "), 1)
}

// FuzzReadStrict feeds arbitrary input: it must not panic, and accepted input
// must hold together.
func FuzzReadStrict(f *testing.F) {
	f.Add(npytest.Archive(someFiles()...))
	f.Add(goArchive(f, zip.Deflate, someFiles()...))
	f.Add(npytest.Archive())
	f.Fuzz(func(t *testing.T, data []byte) {
		arrays, _, err := ReadStrict(t.Context(), data, anyKind)
		if err != nil {
			return
		}
		for name, a := range arrays {
			if n := numbers(a); len(a.Values) != n {
				t.Errorf("%s: %d values for the shape %v", name, len(a.Values), a.Shape)
			}
		}
	})
}

// FuzzParseStrict feeds anything to the array parser.
func FuzzParseStrict(f *testing.F) {
	for _, file := range someFiles() {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := parseStrict(data, anyKind); err == nil && len(a.Values) != numbers(a) {
			t.Errorf("%d values for the shape %v", len(a.Values), a.Shape)
		}
	})
}
