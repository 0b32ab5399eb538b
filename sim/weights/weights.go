// Package weights reads and writes files of a network's weights: NumPy's NPZ and Hugging Face's
// safetensors. A network says which arrays it has; nothing else is read from a file.
//
// PyTorch's own files hold a pickle, a program that the reader runs, and are not read.
package weights

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/await"
	"prismtop/profiles/inputfile"
	"prismtop/sim/npy"
	"prismtop/sim/tensor"
)

// Tensor is a named array, row by row. Values is nil where only name and shape matter.
type Tensor struct {
	Name   string
	Shape  []int
	Values []float32
}

// Extensions are the names of the formats.
var Extensions = []string{".npz", ".safetensors"}

// errPickle refuses PyTorch's files.
var errPickle = errors.New("is a file of torch.save, which holds a program; write it again in Python with " +
	`safetensors.torch.save_file(m.state_dict(), "weights.safetensors") or ` +
	`numpy.savez("weights.npz", **{k: v.numpy() for k, v in m.state_dict().items()})`)

// CheckPath returns an error unless the name of a file to be written ends in a known extension.
func CheckPath(path string) error {
	if !slices.Contains(Extensions, strings.ToLower(filepath.Ext(path))) {
		return fmt.Errorf("%s: must end in %s", path, strings.Join(Extensions, " or "))
	}
	return nil
}

// Write writes tensors to a file in the format that its extension names: the whole file, or none.
func Write(path string, tensors []Tensor) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	write := writeNPZ
	if strings.EqualFold(filepath.Ext(path), ".safetensors") {
		write = writeSafetensors
	}
	return atomicfile.WriteFrom(path, 0o666, func(w io.Writer) error { return write(w, tensors) })
}

// EncodeNPZ returns tensors as a file in NPZ format.
func EncodeNPZ(tensors []Tensor) ([]byte, error) {
	var b bytes.Buffer
	err := writeNPZ(&b, tensors)
	return b.Bytes(), err
}

func writeNPZ(w io.Writer, tensors []Tensor) error {
	archive := npy.NewWriter(w)
	for _, t := range tensors {
		if err := npy.Add(archive, t.Name, t.Shape, t.Values); err != nil {
			return err
		}
	}
	return archive.Close()
}

// Read reads the tensors that a network has from a file, converted to float32 and in the order
// of wanted. The format is found by content. Names that ignored accepts may be there besides; any
// other difference of names or shapes is an error that names the first, before its data are
// read. The error names the file, or is that of ctx if it ends first.
func Read(ctx context.Context, path string, wanted []Tensor, ignored func(name string) bool) ([]Tensor, error) {
	tensors, err := await.Result(ctx, func() ([]Tensor, error) {
		f, info, err := inputfile.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return read(ctx, f, info.Size(), wanted, ignored)
	})
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("weights %s: %w", path, err)
	}
	return tensors, err
}

func read(ctx context.Context, f io.ReaderAt, size int64, wanted []Tensor, ignored func(string) bool) ([]Tensor, error) {
	head := make([]byte, 16)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, bare(err)
	}
	head = head[:n]
	m := newMatch(wanted, ignored)
	switch {
	case npy.IsArchive(head):
		err = readNPZ(ctx, inputfile.ReaderAt{Context: ctx, Source: f}, size, m)
	case isSafetensors(head):
		err = readSafetensors(inputfile.ReaderAt{Context: ctx, Source: f}, size, m)
	case len(head) > 1 && head[0] == 0x80 && head[1] < 6: // a pickle without an archive, before PyTorch 1.6
		err = errPickle
	default:
		err = errors.New("is neither an NPZ archive nor in safetensors format")
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		err = m.complete()
	}
	if err != nil {
		return nil, err
	}
	return m.tensors, nil
}

// bare returns an error without its operation and path.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// match collects the wanted tensors of a file.
type match struct {
	tensors []Tensor
	index   map[string]int
	seen    map[string]bool
	ignored func(string) bool
}

func newMatch(wanted []Tensor, ignored func(string) bool) *match {
	m := &match{index: map[string]int{}, seen: map[string]bool{}, ignored: ignored}
	for i, t := range wanted {
		m.tensors = append(m.tensors, Tensor{Name: t.Name, Shape: t.Shape})
		m.index[t.Name] = i
	}
	return m
}

// checkpointName is the first array of a checkpoint, which is an NPZ archive, too (docs/checkpoints.md).
const checkpointName = "checkpoint"

var errCheckpoint = errors.New("is a checkpoint: must be a file of weights, which prismtop weights export --from makes of it; --resume continues the run itself")

// accept checks a tensor of the file before its data are read; read is false for one that is
// ignored.
func (m *match) accept(name string, shape []int64) (read bool, err error) {
	if m.seen[name] {
		return false, fmt.Errorf("%q is there twice", name)
	}
	m.seen[name] = true
	i, ok := m.index[name]
	switch {
	case !ok && m.ignored(name):
		return false, nil
	case !ok && name == checkpointName && len(m.seen) == 1:
		return false, errCheckpoint
	case !ok:
		return false, fmt.Errorf("%q is not a weight of this network, whose first is %q", name, m.tensors[0].Name)
	case !slices.EqualFunc(shape, m.tensors[i].Shape, func(a int64, b int) bool { return a == int64(b) }):
		return false, fmt.Errorf("%s has the shape (%s), must be (%s)", name, npy.JoinShape(shape), joined(m.tensors[i].Shape))
	}
	return true, nil
}

// add keeps the numbers of an accepted tensor. A value that is not finite is an error.
func (m *match) add(name string, values []float32) error {
	for i, v := range values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("%s: number %d is %g: must be finite in float32", name, i, v)
		}
	}
	m.tensors[m.index[name]].Values = values
	return nil
}

// complete returns an error that names the first tensor missing.
func (m *match) complete() error {
	for _, t := range m.tensors {
		if t.Values == nil {
			return fmt.Errorf("%s is missing: must be there with the shape (%s)", t.Name, joined(t.Shape))
		}
	}
	return nil
}

func joined(shape []int) string {
	axes := make([]int64, len(shape))
	for i, n := range shape {
		axes[i] = int64(n)
	}
	return npy.JoinShape(axes)
}

// readNPZ reads an archive of numpy.savez or numpy.savez_compressed.
func readNPZ(ctx context.Context, f io.ReaderAt, size int64, m *match) error {
	entries, err := npy.OpenArchive(f, size)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return errPickle // a zip archive without arrays is one of torch.save
	}
	for _, e := range entries {
		h, err := e.Header()
		if err != nil {
			return fmt.Errorf("array %q: %w", e.Name(), err)
		}
		wanted, err := m.accept(e.Name(), h.Shape)
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		kind, ok := npyKinds[h.Type]
		switch {
		case !ok:
			return fmt.Errorf("%s has numbers of type %s: must be <f4 or <f8", e.Name(), h.Type)
		case h.Fortran && len(h.Shape) > 1:
			return fmt.Errorf("%s is stored by columns: must be stored by rows", e.Name())
		}
		_, data, err := e.Load(ctx, func(npy.Header) error { return nil })
		if err == nil {
			err = m.add(e.Name(), floats(kind, data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// npyKinds are the types of numbers read from NPZ, by NumPy's names.
var npyKinds = map[string]kind{"<f4": float32s, "<f8": float64s}

// kind is a type of numbers.
type kind struct {
	size int
	read func([]byte) float32
}

var (
	float32s  = kind{4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }}
	float64s  = kind{8, func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }}
	float16s  = kind{2, func(b []byte) float32 { return tensor.F16ToF32(binary.LittleEndian.Uint16(b)) }}
	bfloat16s = kind{2, func(b []byte) float32 { return tensor.BF16ToF32(binary.LittleEndian.Uint16(b)) }}
)

// floats converts data to float32.
func floats(k kind, data []byte) []float32 {
	values := make([]float32, len(data)/k.size)
	for i := range values {
		values[i] = k.read(data[i*k.size:])
	}
	return values
}

// Folder returns the folder in which trainings of a workload leave their weights: prismtop/NAME in
// $XDG_STATE_HOME, which is ~/.local/state unless set.
func Folder(name string) (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // as the standard wants relative ones to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no folder for trained weights: %w; set XDG_STATE_HOME", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "prismtop", name), nil
}
