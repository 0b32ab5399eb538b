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
		got, _, err := Read(t.Context(), path, Network{Arrays: without(swapped)})
		if err != nil || !reflect.DeepEqual(got, swapped) {
			t.Errorf("%s: %v, %v", extension, got, err)
		}
		if _, _, err := Read(awaittest.After(1), path, Network{Arrays: without(pair())}); !errors.Is(err, context.Canceled) {
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
	got, _, err := read(t.Context(), bytes.NewReader(data), int64(len(data)), Network{Arrays: wanted, Ignored: func(name string) bool { return name == "ignored" }})
	return got, err
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
	for _, test := range []struct {
		name   string
		file   []byte
		want   string
		wanted []Tensor
	}{
		{"shape", npz("a", "<f4", "1, 2", two), "a has the shape (1, 2), must be (2)", wanted[:1]},
		{"type", npz("a", "<i4", "2,", two), "a has numbers of type <i4: must be <f4 or <f8", wanted[:1]},
		{"NaN", npz("a", "<f4", "2,", npytest.Float32s(1, nan)), "a: number 1 is NaN: must be finite in float32", wanted[:1]},
		{"too large", npz("a", "<f8", "2,", npytest.Float64s(1, 1e300)), "a: number 1 is +Inf: must be finite in float32", wanted[:1]},
		{"S shape", safetensors("{"+entry("a", "F32", "1,2", 0, 8)+"}", two), "a has the shape (1, 2), must be (2)", wanted[:1]},
		{"S type", safetensors("{"+entry("a", "I32", "2", 0, 8)+"}", two), "a has numbers of type I32: must be F32, F64, F16 or BF16", wanted[:1]},
		{"empty", nil, "is neither an NPZ archive nor in safetensors format nor of torch.save", wanted},
		{"text", []byte("weights, weights, weights"), "is neither an NPZ archive nor in safetensors format nor of torch.save", wanted},
		{"old torch.save", []byte("\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), errLegacy.Error(), wanted},
		{"missing", npz("a", "<f4", "2,", two), "has other names than the network: missing: b (1)", wanted},
		{"unknown", npz("c", "<f4", "2,", two), "has other names than the network: missing: a (2), b (1); not of this network: c", wanted},
		{"S missing", safetensors("{"+a+"}", two), "has other names than the network: missing: b (1)", wanted},
		{"S unknown", safetensors("{"+entry("c", "F32", "2", 0, 8)+"}", two), "has other names than the network: missing: a (2), b (1); not of this network: c", wanted},
		{"S strange type", safetensors("{"+entry("a", "F7", "2", 0, 8)+"}", two), `damaged safetensors: "a": numbers of unknown type "F7"`, wanted},
		{"S twice", safetensors("{"+a+","+entry("a", "F32", "2", 8, 16)+"}", append(two, two...)), `"a" is there twice`, wanted},
		{"S overlap", safetensors("{"+a+","+entry("b", "F32", "1", 4, 8)+"}", two), "damaged safetensors: a gap or an overlap of tensors at byte 4", wanted},
		{"S gap", safetensors("{"+a+","+entry("b", "F32", "1", 12, 16)+"}", append(three, 0, 0, 0, 0)), "damaged safetensors: a gap or an overlap of tensors at byte 8", wanted},
		{"S rest", safetensors("{"+a+","+b+"}", append(three, 0)), "damaged safetensors: 1 bytes after the last tensor", wanted},
		{"S cut", safetensors("{"+a+","+b+"}", two), `damaged safetensors: "b": bytes 8 to 12 do not hold the shape [1] in 8 bytes of data`, wanted},
		{"S false bytes", safetensors("{"+entry("a", "F32", "2", 0, 12)+"}", three), `damaged safetensors: "a": bytes 0 to 12 do not hold the shape [2] in 12 bytes of data`, wanted},
		{"S huge shape", safetensors("{"+entry("a", "F32", "4294967296,4294967296", 0, 8)+"}", two), `damaged safetensors: "a": the shape [4294967296 4294967296] does not fit the file`, wanted},
		{"S negative", safetensors("{"+entry("a", "F32", "-2", 0, 8)+"}", two), `damaged safetensors: "a": the shape [-2] does not fit the file`, wanted},
		{"S no offsets", safetensors(`{"a":{"dtype":"F32","shape":[2]}}`, two), `damaged safetensors: "a": bytes -1 to -1 do not hold the shape [2] in 8 bytes of data`, wanted},
		{"S long header", safetensors("{"+a+"}", nil)[:30], "damaged safetensors: a header of 54 bytes in a file of 30", wanted},
		{"S text", safetensors("{"+a+","+b+"}x", three), "damaged safetensors: the header is followed by other text", wanted},
		{"S no end", safetensors("{"+a+","+b, three), "damaged safetensors: the header: EOF", wanted},
		{"S metadata", safetensors(`{"__metadata__":{"a":1},`+a+","+b+"}", three), "damaged safetensors: the header's __metadata__: json: cannot unmarshal number into Go value of type string", wanted},
	} {
		_, err := readBytes(t, test.file, test.wanted)
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
	if _, _, err := Read(t.Context(), path, Network{Arrays: without(pair())}); err == nil || !strings.HasPrefix(err.Error(), "weights "+path+": is neither") {
		t.Errorf("the error is %v", err)
	}
}

// FuzzRead feeds anything to both formats: it must not panic nor take more memory than the
// file's, and what is read has the shapes asked for.
func FuzzRead(f *testing.F) {
	f.Add(npz("w", "<f4", "2,", npytest.Float32s(1, 2)))
	f.Add(safetensors("{"+entry("w", "F32", "2", 0, 8)+"}", npytest.Float32s(1, 2)))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _, err := read(t.Context(), bytes.NewReader(data), int64(len(data)), Network{Arrays: []Tensor{{Name: "w", Shape: []int{2}}}})
		if err == nil && (len(got) != 1 || len(got[0].Values) != 2) {
			t.Errorf("%v", got)
		}
	})
}
