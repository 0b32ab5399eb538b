package weights

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"prismtop/profiles/await/awaittest"
	"prismtop/sim/npy/npytest"
)

func none(string) bool { return false }

// pair is a network of two arrays.
func pair() []Tensor {
	return []Tensor{
		{Name: "a", Shape: []int{2, 2}, Values: []float32{1, -2.5, math.SmallestNonzeroFloat32, math.MaxFloat32}},
		{Name: `b."ü`, Shape: []int{1}, Values: []float32{7}},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, extension := range Extensions {
		path := filepath.Join(t.TempDir(), "w"+strings.ToUpper(extension))
		if err := Write(path, pair()); err != nil {
			t.Fatal(err)
		}
		swapped := []Tensor{pair()[1], pair()[0]}
		got, err := Read(t.Context(), path, swapped, none)
		if err != nil || !reflect.DeepEqual(got, swapped) {
			t.Errorf("%s: %v, %v", extension, got, err)
		}
		if _, err := Read(awaittest.After(1), path, pair(), none); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, an ended context: %v", extension, err)
		}
	}
	if err := Write(filepath.Join(t.TempDir(), "w.pt"), pair()); err == nil || !strings.HasSuffix(err.Error(), "w.pt: must end in .npz or .safetensors") {
		t.Errorf("another extension: %v", err)
	}
}

// safetensors returns a file with a header and data.
func safetensors(header string, data []byte) []byte {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), data...)
}

// entry is a tensor in a header.
func entry(name, kind, shape string, begin, end int) string {
	return fmt.Sprintf(`"%s":{"dtype":"%s","shape":[%s],"data_offsets":[%d,%d]}`, name, kind, shape, begin, end)
}

// npz returns an archive with one array of float32.
func npz(name, kind, shape string, data []byte) []byte {
	return npytest.Archive(npytest.File{Name: name, Data: npytest.Array(kind, shape, data)})
}

// readBytes reads a file's content.
func readBytes(t *testing.T, data []byte, wanted []Tensor) ([]Tensor, error) {
	return read(t.Context(), bytes.NewReader(data), int64(len(data)), wanted, func(name string) bool { return name == "ignored" })
}

func TestTypesOfNumbers(t *testing.T) {
	wanted := []Tensor{{Name: "w", Shape: []int{2}}}
	two := npytest.Float32s(1, -2)
	for name, file := range map[string][]byte{
		"npz <f4": npz("w", "<f4", "2,", two), "npz <f8": npz("w", "<f8", "2,", npytest.Float64s(1, -2)),
		"F32": safetensors("{"+entry("w", "F32", "2", 0, 8)+"}  ", two), "F64": safetensors("{"+entry("w", "F64", "2", 0, 16)+"}", npytest.Float64s(1, -2)),
		"F16": safetensors("{"+entry("w", "F16", "2", 0, 4)+"}", []byte{0, 0x3c, 0, 0xc0}), "BF16": safetensors("{"+entry("w", "BF16", "2", 0, 4)+"}", []byte{0x80, 0x3f, 0, 0xc0}),
		"metadata, ignored, order": safetensors(`{`+entry("w", "F32", "2", 3, 11)+`,"__metadata__":{"format":"pt"},`+entry("ignored", "U8", "3", 0, 3)+`}`, append([]byte("xyz"), two...)),
	} {
		got, err := readBytes(t, file, wanted)
		if err != nil || !reflect.DeepEqual(got[0].Values, []float32{1, -2}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	wanted := []Tensor{{Name: "a", Shape: []int{2}}, {Name: "b", Shape: []int{1}}}
	two, three := npytest.Float32s(1, 2), npytest.Float32s(1, 2, 3)
	nan := float32(math.NaN())
	a, b := entry("a", "F32", "2", 0, 8), entry("b", "F32", "1", 8, 12)
	pickle := errPickle.Error()
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "is neither an NPZ archive nor in safetensors format"},
		{"text", []byte("weights, weights, weights"), "is neither an NPZ archive nor in safetensors format"},
		{"old torch.save", []byte("\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), pickle},
		{"missing", npz("a", "<f4", "2,", two), "b is missing: must be there with the shape (1)"},
		{"unknown", npz("c", "<f4", "2,", two), `"c" is not a weight of this network, whose first is "a"`},
		{"shape", npz("a", "<f4", "1, 2", two), "a has the shape (1, 2), must be (2)"},
		{"type", npz("a", "<i4", "2,", two), "a has numbers of type <i4: must be <f4 or <f8"},
		{"NaN", npz("a", "<f4", "2,", npytest.Float32s(1, nan)), "a: number 1 is NaN: must be finite in float32"},
		{"too large", npz("a", "<f8", "2,", npytest.Float64s(1, 1e300)), "a: number 1 is +Inf: must be finite in float32"},
		{"S missing", safetensors("{"+a+"}", two), "b is missing: must be there with the shape (1)"},
		{"S unknown", safetensors("{"+entry("c", "F32", "2", 0, 8)+"}", two), `"c" is not a weight of this network, whose first is "a"`},
		{"S shape", safetensors("{"+entry("a", "F32", "1,2", 0, 8)+"}", two), "a has the shape (1, 2), must be (2)"},
		{"S type", safetensors("{"+entry("a", "I32", "2", 0, 8)+"}", two), "a has numbers of type I32: must be F32, F64, F16 or BF16"},
		{"S strange type", safetensors("{"+entry("a", "F7", "2", 0, 8)+"}", two), `damaged safetensors: "a": numbers of unknown type "F7"`},
		{"S twice", safetensors("{"+a+","+entry("a", "F32", "2", 8, 16)+"}", append(two, two...)), `"a" is there twice`},
		{"S overlap", safetensors("{"+a+","+entry("b", "F32", "1", 4, 8)+"}", two), "damaged safetensors: a gap or an overlap of tensors at byte 4"},
		{"S gap", safetensors("{"+a+","+entry("b", "F32", "1", 12, 16)+"}", append(three, 0, 0, 0, 0)), "damaged safetensors: a gap or an overlap of tensors at byte 8"},
		{"S rest", safetensors("{"+a+","+b+"}", append(three, 0)), "damaged safetensors: 1 bytes after the last tensor"},
		{"S cut", safetensors("{"+a+","+b+"}", two), `damaged safetensors: "b": bytes 8 to 12 do not hold the shape [1] in 8 bytes of data`},
		{"S false bytes", safetensors("{"+entry("a", "F32", "2", 0, 12)+"}", three), `damaged safetensors: "a": bytes 0 to 12 do not hold the shape [2] in 12 bytes of data`},
		{"S huge shape", safetensors("{"+entry("a", "F32", "4294967296,4294967296", 0, 8)+"}", two), `damaged safetensors: "a": the shape [4294967296 4294967296] does not fit the file`},
		{"S negative", safetensors("{"+entry("a", "F32", "-2", 0, 8)+"}", two), `damaged safetensors: "a": the shape [-2] does not fit the file`},
		{"S no offsets", safetensors(`{"a":{"dtype":"F32","shape":[2]}}`, two), `damaged safetensors: "a": bytes -1 to -1 do not hold the shape [2] in 8 bytes of data`},
		{"S long header", safetensors("{"+a+"}", nil)[:30], "damaged safetensors: a header of 54 bytes in a file of 30"},
		{"S text", safetensors("{"+a+","+b+"}x", three), "damaged safetensors: the header is followed by other text"},
		{"S no end", safetensors("{"+a+","+b, three), "damaged safetensors: the header: EOF"},
		{"S metadata", safetensors(`{"__metadata__":{"a":1},`+a+","+b+"}", three), "damaged safetensors: the header's __metadata__: json: cannot unmarshal number into Go value of type string"},
	} {
		_, err := readBytes(t, test.file, wanted)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.npz")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), path, pair(), none); err == nil || !strings.HasPrefix(err.Error(), "weights "+path+": is neither") {
		t.Errorf("the error is %v", err)
	}
}

// FuzzRead feeds anything to both formats: it must not panic nor take more memory than the
// file's, and what is read has the shapes asked for.
func FuzzRead(f *testing.F) {
	f.Add(npz("w", "<f4", "2,", npytest.Float32s(1, 2)))
	f.Add(safetensors("{"+entry("w", "F32", "2", 0, 8)+"}", npytest.Float32s(1, 2)))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := read(t.Context(), bytes.NewReader(data), int64(len(data)), []Tensor{{Name: "w", Shape: []int{2}}}, none)
		if err == nil && (len(got) != 1 || len(got[0].Values) != 2) {
			t.Errorf("%v", got)
		}
	})
}
