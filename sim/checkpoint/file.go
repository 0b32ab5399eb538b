package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/await"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/unit"
	"prismtop/sim/npy"
)

// documentName is the name of the array that has the JSON document, as bytes.
const documentName = "checkpoint"

// maxDocument bounds the JSON document.
const maxDocument = 1 << 28

// document is the JSON document of a file.
type document struct {
	Format int             `json:"format"`
	Run    Run             `json:"run"`
	Task   json.RawMessage `json:"task"`
}

// Write writes the checkpoint of a run whose task is in a state: the whole file, or none. It
// replaces a file of that name.
func Write(path string, r *Run, s *State) error {
	write, err := encode(r, s)
	if err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return atomicfile.WriteFrom(path, 0o666, write)
}

// WriteNew is Write under an unused name: names returns the n-th choice, from 1 on. It returns
// the one taken.
func WriteNew(names func(n int) string, r *Run, s *State) (string, error) {
	write, err := encode(r, s)
	if err != nil {
		return "", &fs.PathError{Op: "write", Path: names(1), Err: err}
	}
	return atomicfile.WriteNewFrom(names, 0o666, write)
}

// encode returns a function that writes the file.
func encode(r *Run, s *State) (func(io.Writer) error, error) {
	task, err := json.Marshal(s.Scalars)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(document{Format, *r, task})
	if err != nil {
		return nil, err
	}
	if len(text) > maxDocument {
		return nil, errors.New("the results are larger than " + unit.Limit(maxDocument))
	}
	return func(w io.Writer) error {
		archive := npy.NewWriter(w)
		if err := npy.Add(archive, documentName, []int{len(text)}, text); err != nil {
			return err
		}
		for _, a := range s.Arrays {
			if a.Float64 != nil {
				err = npy.Add(archive, a.Name, a.Shape, a.Float64)
			} else {
				err = npy.Add(archive, a.Name, a.Shape, a.Float32)
			}
			if err != nil {
				return err
			}
		}
		return archive.Close()
	}, nil
}

// Read reads a checkpoint. The error names the file and what is wrong with it, or is that of ctx
// if it ends first.
func Read(ctx context.Context, path string) (*Checkpoint, error) {
	c, err := await.Result(ctx, func() (*Checkpoint, error) { return read(ctx, path) })
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	return c, err
}

func read(ctx context.Context, path string) (*Checkpoint, error) {
	f, info, err := inputfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decode(ctx, f, info.Size())
}

// Is reports whether a file is a checkpoint by its first array, also one of a later version of the format.
func Is(path string) bool {
	f, info, err := inputfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	entries, err := npy.OpenArchive(f, info.Size())
	if err != nil || len(entries) == 0 || entries[0].Name() != documentName {
		return false
	}
	begins := []byte(`{"format":`)
	return entries[0].Read(func(r io.Reader, _ int64) error {
		h, _, err := npy.ReadHeader(r)
		head := make([]byte, len(begins))
		if err == nil {
			_, err = io.ReadFull(r, head)
		}
		if err == nil && (h.Type != "|u1" || !bytes.Equal(head, begins)) {
			return errNotCheckpoint
		}
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		return err
	}) == nil
}

// decode reads the archive, whose arrays are not compressed and hence take no more memory than
// the file.
func decode(ctx context.Context, f io.ReaderAt, size int64) (*Checkpoint, error) {
	head := make([]byte, 4)
	if _, err := f.ReadAt(head, 0); err != nil || !npy.IsArchive(head) {
		return nil, errNotCheckpoint
	}
	entries, err := npy.OpenArchive(inputfile.ReaderAt{Context: ctx, Source: f}, size)
	if err != nil {
		return nil, fmt.Errorf("%w: it may be truncated", err)
	}
	if len(entries) == 0 || entries[0].Name() != documentName {
		return nil, errNotCheckpoint
	}
	c, left, seen := &Checkpoint{}, size, map[string]bool{}
	for i, e := range entries {
		accept := func(h npy.Header) error {
			bytes, known := h.Bytes()
			switch {
			case seen[e.Name()]:
				return errors.New("is there twice")
			case !known || !e.Stored() || h.Fortran || bytes > left:
				return errors.New("is not stored as a checkpoint's arrays are")
			case i == 0 && (h.Type != "|u1" || bytes > maxDocument):
				return errNotCheckpoint
			}
			left -= bytes
			return nil
		}
		h, data, err := e.Load(ctx, accept)
		seen[e.Name()] = true
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil && i == 0:
			err = c.parse(data)
		case err == nil:
			err = c.add(e.Name(), h, data)
		}
		var newer *NewerError
		if errors.As(err, &newer) || errors.Is(err, errNotCheckpoint) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", e.Name(), err)
		}
	}
	return c, nil
}

// NewerError reports a file of a later version of the format.
type NewerError struct{ Format int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("is in version %d of the format, of a newer prismtop: must be at most %d", e.Format, Format)
}

// parse reads the document.
func (c *Checkpoint) parse(text []byte) error {
	var version struct {
		Format int `json:"format"`
	}
	switch err := json.Unmarshal(text, &version); {
	case err != nil || version.Format < 1:
		return errNotCheckpoint
	case version.Format > Format:
		return &NewerError{version.Format}
	}
	var d document
	if err := decodeStrictly(text, &d); err != nil {
		return err
	}
	if d.Run.Iteration < 0 {
		return fmt.Errorf("iteration %d: must not be negative", d.Run.Iteration)
	}
	c.Run, c.Task = d.Run, d.Task
	return nil
}

// decodeStrictly decodes one JSON value without unknown fields.
func decodeStrictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("text after the document")
	}
	return nil
}

// add adds an array.
func (c *Checkpoint) add(name string, h npy.Header, data []byte) error {
	a := Array{Name: name, Shape: make([]int, len(h.Shape))}
	for i, n := range h.Shape {
		a.Shape[i] = int(n)
	}
	switch h.Type {
	case "<f4":
		a.Float32 = make([]float32, len(data)/4)
		for i := range a.Float32 {
			a.Float32[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case "<f8":
		a.Float64 = make([]float64, len(data)/8)
		for i := range a.Float64 {
			a.Float64[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		}
	default:
		return fmt.Errorf("numbers of type %s: must be <f4 or <f8", h.Type)
	}
	c.Arrays = append(c.Arrays, a)
	return nil
}
