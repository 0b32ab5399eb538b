package npytest

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Reader is an NPZ archive in memory.
type Reader struct {
	arrays map[string]array
	names  []string
}

// array is a file of an archive.
type array struct {
	kind  string
	shape []int
	data  []byte
}

// Open reads an archive. It knows what NumPy writes, and panics on anything else: an archive is the test's own.
func Open(path string) (*Reader, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	end := bytes.LastIndex(file, []byte("PK\x05\x06"))
	if end < 0 {
		return nil, fmt.Errorf("%s: is no zip archive", path)
	}
	r := &Reader{arrays: map[string]array{}}
	at := file[le.Uint32(file[end+16:]):]
	for range le.Uint16(file[end+10:]) {
		name := string(at[46 : 46+le.Uint16(at[28:])])
		local := file[le.Uint32(at[42:]):]
		data := local[30+int(le.Uint16(local[26:]))+int(le.Uint16(local[28:])):][:le.Uint32(at[20:])]
		if le.Uint16(at[10:]) != 0 {
			if data, err = io.ReadAll(flate.NewReader(bytes.NewReader(data))); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, name, err)
			}
		}
		name = strings.TrimSuffix(name, ".npy")
		r.names = append(r.names, name)
		r.arrays[name] = parse(data)
		at = at[46+int(le.Uint16(at[28:]))+int(le.Uint16(at[30:]))+int(le.Uint16(at[32:])):]
	}
	return r, nil
}

// Decode reads an array in NPY format: its type as NumPy names it, its shape and its data.
func Decode(file []byte) (kind string, shape []int, data []byte) {
	a := parse(file)
	return a.kind, a.shape, a.data
}

var dictionary = regexp.MustCompile(`'descr': '([^']*)', 'fortran_order': False, 'shape': \(([^)]*)\)`)

// parse reads an array in rows.
func parse(file []byte) array {
	size, from := int(binary.LittleEndian.Uint16(file[8:])), 10
	if file[6] > 1 { // version 2 and later
		size, from = int(binary.LittleEndian.Uint32(file[8:])), 12
	}
	header := dictionary.FindSubmatch(file[from : from+size])
	a := array{kind: string(header[1]), shape: []int{}, data: file[from+size:]}
	for field := range strings.SplitSeq(string(header[2]), ",") {
		if field = strings.TrimSpace(field); field != "" {
			n, err := strconv.Atoi(field)
			if err != nil {
				panic(err)
			}
			a.shape = append(a.shape, n)
		}
	}
	return a
}

// Names lists the arrays in their order.
func (r *Reader) Names() []string { return r.names }

// Has reports whether there is an array.
func (r *Reader) Has(name string) bool { _, ok := r.arrays[name]; return ok }

// Shape returns an array's shape, nil if there is none.
func (r *Reader) Shape(name string) []int { return r.arrays[name].shape }

// kinds are the types of elements by NumPy's names.
var kinds = map[string]reflect.Kind{"<f4": reflect.Float32, "<f8": reflect.Float64, "|u1": reflect.Uint8,
	"|b1": reflect.Bool, "<i4": reflect.Int32, "<i8": reflect.Int64,
	"<c8": reflect.Complex64, "<c16": reflect.Complex128}

// Read reads an array's elements, row by row, into a pointer to a slice of their type, or to one such number.
func (r *Reader) Read(name string, into any) error {
	a, ok := r.arrays[name]
	if !ok {
		return fmt.Errorf("no array %q", name)
	}
	to := reflect.ValueOf(into).Elem()
	of := to.Type()
	n := 1
	if to.Kind() == reflect.Slice {
		of = of.Elem()
		for _, m := range a.shape {
			n *= m
		}
		to.Set(reflect.MakeSlice(to.Type(), n, n))
		into = to.Interface()
	}
	if kinds[a.kind] != of.Kind() || len(a.data) != n*int(of.Size()) {
		return fmt.Errorf("array %q of %s%v is none of %v", name, a.kind, a.shape, of)
	}
	return binary.Read(bytes.NewReader(a.data), binary.LittleEndian, into)
}
