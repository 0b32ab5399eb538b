package weights

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// The safetensors format: the length of a header in eight bytes, the header, a JSON object that
// gives type, shape and place of every tensor, and the tensors' data, which follow one another
// without gap or overlap up to the end of the file.

// maxSafetensorsHeader bounds the header, as the format does.
const maxSafetensorsHeader = 100_000_000

// metadataName is the name in the header of what is no tensor: texts by name.
const metadataName = "__metadata__"

// placed is the header's entry of a tensor.
type placed struct {
	Type    string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"` // first byte and the one after the last, from the header's end
}

// safetensorsKinds are the types of numbers that are read, by the format's names.
var safetensorsKinds = map[string]kind{"F32": float32s, "F64": float64s, "F16": float16s, "BF16": bfloat16s}

// safetensorsSizes are the bytes of each type of the format. Tensors of the others are ignored
// or not by their names.
var safetensorsSizes = map[string]int64{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2,
	"I32": 4, "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8,
}

// isSafetensors reports whether a file that begins with head is in the format.
func isSafetensors(head []byte) bool {
	return len(head) > 8 && binary.LittleEndian.Uint64(head) <= maxSafetensorsHeader && head[8] == '{'
}

// safetensorsBegin begins the header of files that writeSafetensors writes; Own knows them by it.
const safetensorsBegin = `{"` + metadataName + `":{"format":"pt","producer":"` + producer + `"}`

// writeSafetensors writes tensors as F32, in their order.
func writeSafetensors(w io.Writer, tensors []Tensor) error {
	var header bytes.Buffer
	header.WriteString(safetensorsBegin)
	at := int64(0)
	for _, t := range tensors {
		p := placed{"F32", make([]int64, len(t.Shape)), [2]int64{at, at + 4*int64(len(t.Values))}}
		for i, n := range t.Shape {
			p.Shape[i] = int64(n)
		}
		entry, err := json.Marshal(p)
		if err != nil {
			return err
		}
		name, err := json.Marshal(t.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&header, ",%s:%s", name, entry)
		at = p.Offsets[1]
	}
	header.WriteByte('}')
	for header.Len()%8 != 0 { // the data are aligned
		header.WriteByte(' ')
	}
	buffered := bufio.NewWriterSize(w, 1<<16)
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], uint64(header.Len()))
	buffered.Write(number[:]) // bufio keeps the first error for Flush
	buffered.Write(header.Bytes())
	for _, t := range tensors {
		for _, v := range t.Values {
			binary.LittleEndian.PutUint32(number[:], math.Float32bits(v))
			buffered.Write(number[:4])
		}
	}
	return buffered.Flush()
}

// listSafetensors lists the tensors of a file.
func listSafetensors(f io.ReaderAt, size int64) (all []stored, err error) {
	var number [8]byte
	if _, err := f.ReadAt(number[:], 0); err != nil {
		return nil, err
	}
	length := int64(min(binary.LittleEndian.Uint64(number[:]), maxSafetensorsHeader))
	if length > size-8 {
		return nil, fmt.Errorf("damaged safetensors: a header of %d bytes in a file of %d", length, size)
	}
	text := make([]byte, length)
	if _, err := f.ReadAt(text, 8); err != nil {
		return nil, err
	}
	names, entries, err := parseSafetensors(text, size-8-length)
	if err != nil {
		return nil, fmt.Errorf("damaged safetensors: %w", err)
	}
	for i, name := range names {
		p := &entries[i]
		all = append(all, stored{name, p.Shape, func() ([]float32, error) {
			k, ok := safetensorsKinds[p.Type]
			if !ok {
				return nil, fmt.Errorf("%s has numbers of type %s: must be F32, F64, F16 or BF16", name, p.Type)
			}
			data := make([]byte, p.Offsets[1]-p.Offsets[0])
			if _, err := f.ReadAt(data, 8+length+p.Offsets[0]); err != nil {
				return nil, err
			}
			return floats(k, data), nil
		}})
	}
	return all, nil
}

// parseSafetensors reads the header of a file with the given number of bytes of data, which the
// tensors must fill exactly. The tensors are in the header's order.
func parseSafetensors(text []byte, data int64) (names []string, entries []placed, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, nil, errors.New("the header is not a JSON object")
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("the header: %w", err)
		}
		name, _ := token.(string)
		if name == metadataName {
			var texts map[string]string
			if err := d.Decode(&texts); err != nil {
				return nil, nil, fmt.Errorf("the header's %s: %w", metadataName, err)
			}
			continue
		}
		p := placed{Offsets: [2]int64{-1, -1}}
		if err := d.Decode(&p); err != nil {
			return nil, nil, fmt.Errorf("the header's entry %q: %w", name, err)
		}
		if err := p.check(data); err != nil {
			return nil, nil, fmt.Errorf("%q: %w", name, err)
		}
		names, entries = append(names, name), append(entries, p)
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, fmt.Errorf("the header: %w", err)
	}
	if rest := text[d.InputOffset():]; strings.Trim(string(rest), " ") != "" {
		return nil, nil, errors.New("the header is followed by other text")
	}
	return names, entries, fills(entries, data)
}

// check returns an error unless the tensor's bytes are those of its type and shape, inside the
// data.
func (p *placed) check(data int64) error {
	bytes, ok := safetensorsSizes[p.Type]
	if !ok {
		return fmt.Errorf("numbers of unknown type %q", p.Type)
	}
	for _, n := range p.Shape {
		if n < 0 || n > 0 && bytes > data/n {
			return fmt.Errorf("the shape %v does not fit the file", p.Shape)
		}
		bytes *= n
	}
	if begin, end := p.Offsets[0], p.Offsets[1]; begin < 0 || end > data || begin > end || end-begin != bytes {
		return fmt.Errorf("bytes %d to %d do not hold the shape %v in %d bytes of data", begin, end, p.Shape, data)
	}
	return nil
}

// fills returns an error unless the tensors fill the data without gap or overlap.
func fills(entries []placed, data int64) error {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b placed) int {
		if a.Offsets[0] != b.Offsets[0] {
			return int(min(max(a.Offsets[0]-b.Offsets[0], -1), 1))
		}
		return int(min(max(a.Offsets[1]-b.Offsets[1], -1), 1))
	})
	at := int64(0)
	for _, p := range sorted {
		if p.Offsets[0] != at {
			return fmt.Errorf("a gap or an overlap of tensors at byte %d", min(at, p.Offsets[0]))
		}
		at = p.Offsets[1]
	}
	if at != data {
		return fmt.Errorf("%d bytes after the last tensor", data-at)
	}
	return nil
}
