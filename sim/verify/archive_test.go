package verify

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// npy is an array as numpy stores it.
func npy(kind, shape string, data []byte) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, shape)
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	header += "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	return append(append(b, header...), data...)
}

func float32Bytes(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func float64Bytes(values ...float64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// file is one array's name and NPY text.
type file struct {
	name string
	npy  []byte
}

// numpyArchive writes files as numpy's savez does: stored, no time stamps, a
// zip64 field in each local header.
func numpyArchive(files ...file) []byte {
	var out, directory []byte
	le := binary.LittleEndian
	for _, f := range files {
		offset, name := len(out), f.name+".npy"
		crc, size := crc32.ChecksumIEEE(f.npy), uint32(len(f.npy))
		common := le.AppendUint16(nil, 20) // version, flags, method, time, date
		common = append(common, 0, 0, 0, 0, 0, 0, 0x21, 0)
		common = le.AppendUint32(common, crc)
		common = le.AppendUint32(common, size)
		common = le.AppendUint32(common, size)
		common = le.AppendUint16(common, uint16(len(name)))

		out = le.AppendUint32(out, localSignature)
		out = append(out, common...)
		out = le.AppendUint16(out, 20)
		out = append(out, name...)
		out = le.AppendUint16(out, zip64Field)
		out = le.AppendUint16(out, 16)
		out = le.AppendUint64(out, uint64(size))
		out = le.AppendUint64(out, uint64(size))
		out = append(out, f.npy...)

		directory = le.AppendUint32(directory, directorySignature)
		directory = append(directory, 20, 3)
		directory = append(directory, common...)
		directory = append(directory, 0, 0, 0, 0, 0, 0, 0, 0) // extra, comment, disk, internal
		directory = le.AppendUint32(directory, 0o600<<16)
		directory = le.AppendUint32(directory, uint32(offset))
		directory = append(directory, name...)
	}
	start := len(out)
	out = append(out, directory...)
	out = le.AppendUint32(out, endSignature)
	out = append(out, 0, 0, 0, 0)
	out = le.AppendUint16(out, uint16(len(files)))
	out = le.AppendUint16(out, uint16(len(files)))
	out = le.AppendUint32(out, uint32(len(directory)))
	out = le.AppendUint32(out, uint32(start))
	return append(out, 0, 0)
}

// goArchive writes files by archive/zip: sizes in trailers, packed or not.
func goArchive(t testing.TB, method uint16, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		part, err := w.CreateHeader(&zip.FileHeader{Name: f.name + ".npy", Method: method})
		if err == nil {
			_, err = part.Write(f.npy)
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

func someFiles() []file {
	return []file{
		{"a.x", npy("<f4", "2, 3", float32Bytes(1, 2, 3, -4, 5, 6))},
		{"a.y_64", npy("<c16", "1,", float64Bytes(0.5, -0.25))},
		{"mask", npy("|u1", "4,", []byte{0, 1, 1, 0})},
		{"radius", npy("<f8", "", float64Bytes(6))},
	}
}

func TestParseArchive(t *testing.T) {
	for name, data := range map[string][]byte{
		"as numpy writes it":    numpyArchive(someFiles()...),
		"stored, with trailers": goArchive(t, zip.Store, someFiles()...),
		"packed":                goArchive(t, zip.Deflate, someFiles()...),
	} {
		t.Run(name, func(t *testing.T) {
			arrays, damaged, err := parseArchive(t.Context(), data)
			if err != nil || damaged != nil {
				t.Fatal(err, damaged)
			}
			if x := arrays["a.x"]; x == nil || x.shape.String() != "2x3" || !reflect.DeepEqual(x.float32s(), []float32{1, 2, 3, -4, 5, 6}) {
				t.Errorf("a.x = %+v", x)
			}
			if y := arrays["a.y_64"]; y == nil || !y.complex || !reflect.DeepEqual(y.values, []float64{0.5, -0.25}) {
				t.Errorf("a.y_64 = %+v", y)
			}
			if m := arrays["mask"]; m == nil || !reflect.DeepEqual(m.values, []float64{0, 1, 1, 0}) {
				t.Errorf("mask = %+v", m)
			}
			if r := arrays["radius"]; r == nil || len(r.shape) != 0 || r.values[0] != 6 {
				t.Errorf("radius = %+v", r)
			}
		})
	}
}

// TestNoByteChangesUnnoticed changes each byte of an archive in two ways.
func TestNoByteChangesUnnoticed(t *testing.T) {
	for name, data := range map[string][]byte{
		"as numpy writes it":    numpyArchive(someFiles()...),
		"stored, with trailers": goArchive(t, zip.Store, someFiles()...),
	} {
		t.Run(name, func(t *testing.T) {
			for i := range data {
				for _, flip := range []byte{0x01, 0xff} {
					changed := bytes.Clone(data)
					changed[i] ^= flip
					if _, damaged, err := parseArchive(t.Context(), changed); err == nil && len(damaged) == 0 {
						t.Errorf("byte %d of %d, %02x to %02x: unnoticed", i, len(data), data[i], changed[i])
					}
				}
			}
			for _, cut := range []int{0, 1, 21, 22, len(data) / 2, len(data) - 1} {
				if _, damaged, err := parseArchive(t.Context(), data[:cut]); err == nil && len(damaged) == 0 {
					t.Errorf("cut to %d of %d bytes: unnoticed", cut, len(data))
				}
			}
			if _, _, err := parseArchive(t.Context(), append(bytes.Clone(data), 0)); err == nil {
				t.Error("a byte too many: unnoticed")
			}
		})
	}
}

// TestPackedBytesKeepTheirMeaning allows a change that goes unnoticed only where
// it changes no array: the spare bits that end a packed stream.
func TestPackedBytesKeepTheirMeaning(t *testing.T) {
	data := goArchive(t, zip.Deflate, someFiles()...)
	want, _, err := parseArchive(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 0x01
		got, damaged, err := parseArchive(t.Context(), changed)
		if err == nil && len(damaged) == 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("byte %d of %d: other values, unnoticed", i, len(data))
		}
	}
}

func TestDamageNamesTheArray(t *testing.T) {
	data := numpyArchive(someFiles()...)
	at := bytes.Index(data, float32Bytes(-4))
	data[at] ^= 1
	arrays, damaged, err := parseArchive(t.Context(), data)
	if err != nil || len(damaged) != 1 || damaged[0].array != "a.x" || !strings.Contains(damaged[0].Error(), "its bytes have changed") {
		t.Errorf("damaged = %v, err = %v", damaged, err)
	}
	if len(arrays) != 3 {
		t.Errorf("%d sound arrays, want 3", len(arrays))
	}

	data = numpyArchive(someFiles()...)
	data[bytes.Index(data, []byte("mask"))] ^= 1
	if _, _, err := parseArchive(t.Context(), data); err == nil || !strings.Contains(err.Error(), "array mask: its header differs") {
		t.Errorf("changed name in a header: %v", err)
	}

	data = numpyArchive(someFiles()...)
	data[bytes.LastIndex(data, []byte("mask"))-directorySize] ^= 1
	if _, _, err := parseArchive(t.Context(), data); err == nil || !strings.Contains(err.Error(), "array mask: its directory entry is damaged") {
		t.Errorf("changed signature in the directory: %v", err)
	}
}

func TestParseArchiveRefuses(t *testing.T) {
	huge := numpyArchive(file{"a", npy("<f4", "1,", float32Bytes(1))})
	directory := bytes.Index(huge, binary.LittleEndian.AppendUint32(nil, directorySignature))
	resized := bytes.Clone(huge)
	resized[directory+24+3] ^= 0x80
	repacked := bytes.Clone(huge)
	repacked[directory+20] ^= 1
	trailing := goArchive(t, zip.Store, someFiles()...)
	trailing[bytes.Index(trailing, binary.LittleEndian.AppendUint32(nil, directorySignature))+24+3] ^= 0x80
	overlong := goArchive(t, zip.Store, someFiles()...)
	overlong[bytes.Index(overlong, binary.LittleEndian.AppendUint32(nil, directorySignature))+20+3] ^= 0x80
	for _, at := range []int{directory + 24, 22, localSize + len("a.npy") + 4} { // directory, header, zip64 field
		binary.LittleEndian.PutUint32(huge[at:], maxArray+1)
	}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not an NPZ file"},
		{"text", []byte("these are no reference vectors, though long enough"), "not an NPZ file"},
		{"two of one name", numpyArchive(someFiles()[0], someFiles()[0]), "array a.x: is in the file twice"},
		{"a terminal's command as a name", numpyArchive(file{"a\x1b[2J", npy("<f4", "1,", float32Bytes(1))}), `array "a\x1b[2J.npy": is no .npy array`},
		{"huge", huge, "array a: is larger than"},
		{"another size in the directory", resized, "array a: is damaged: the directory says 2147483780 bytes, the file has 132"},
		{"another packed size in the directory", repacked, "array a: is damaged: the directory says 133 bytes, the file has 132"},
		{"another size than the trailer's", trailing, "array a.x: is damaged: the directory says 2147483800 bytes, the file has 152"},
		{"a packed size beyond the file", overlong, "array a.x: is damaged: the directory says 2147483800 bytes, the file has"},
		{"not an array", bytes.ReplaceAll(numpyArchive(someFiles()...), []byte("mask.npy"), []byte("mask.txt")), "array mask.txt: is no .npy array"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, _, err := parseArchive(t.Context(), test.data); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("parseArchive = %v, want %q", err, test.want)
			}
		})
	}
}

func TestParseNPYRefuses(t *testing.T) {
	sound := npy("<f4", "2,", float32Bytes(1, 2))
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
		{"half floats", replace("'<f4'", "'<f2'"), "type <f2"},
		{"Fortran order", npyFortran(), "Fortran order"},
		{"too few bytes", sound[:len(sound)-1], "7 bytes of data"},
		{"too many bytes", append(bytes.Clone(sound), 0), "9 bytes of data"},
		{"no elements", npy("<f4", "0,", nil), "empty or too large"},
		{"negative", npy("<f4", "-2,", nil), "numpy would not write"},
		{"product overflows", npy("<f4", "4294967296, 4294967296", nil), "empty or too large"},
		{"many axes", npy("<f4", "1, 1, 1, 1, 1, 1, 1, 1, 1", float32Bytes(1)), "has the shape"},
		{"two commas", npy("<f4", "2,,", float32Bytes(1, 2)), "has the shape"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := parseNPY(test.data); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("parseNPY = %v, want %q", err, test.want)
			}
		})
	}
}

func npyFortran() []byte {
	b := npy("<f4", "1, 1", float32Bytes(1))
	return bytes.Replace(bytes.Replace(b, []byte("False"), []byte("True"), 1), []byte(", }"), []byte(", } "), 1)
}

func TestReadArchiveNamesTheFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.npz")
	if _, _, err := readArchive(t.Context(), missing); err == nil || err.Error() != missing+": no such file or directory" {
		t.Errorf("missing file: %v", err)
	}
	if _, _, err := readArchive(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a folder: wants a file") {
		t.Errorf("folder: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text.npz")
	if err := os.WriteFile(text, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readArchive(t.Context(), text); err == nil || !strings.Contains(err.Error(), "text.npz: not an NPZ file") {
		t.Errorf("text: %v", err)
	}
}

// FuzzParseArchive feeds anything: it must not panic, and what it accepts must
// hold together.
func FuzzParseArchive(f *testing.F) {
	f.Add(numpyArchive(someFiles()...))
	f.Add(goArchive(f, zip.Deflate, someFiles()...))
	f.Add(numpyArchive())
	f.Fuzz(func(t *testing.T, data []byte) {
		arrays, _, err := parseArchive(t.Context(), data)
		if err != nil {
			return
		}
		for name, a := range arrays {
			if n := a.shape.Elements() * a.step(); len(a.values) != n {
				t.Errorf("%s: %d values for the shape %v", name, len(a.values), a.shape)
			}
		}
	})
}

// FuzzParseNPY feeds anything to the array parser.
func FuzzParseNPY(f *testing.F) {
	for _, file := range someFiles() {
		f.Add(file.npy)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := parseNPY(data); err == nil && len(a.values) != a.shape.Elements()*a.step() {
			t.Errorf("%d values for the shape %v", len(a.values), a.shape)
		}
	})
}
