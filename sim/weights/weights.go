// Package weights reads and writes files of a network's weights: NumPy's NPZ and Hugging Face's
// safetensors. It also reads those of PyTorch's torch.save, without running what is in them. A network
// says which arrays it has; nothing else is read from a file.
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
	"path/filepath"
	"slices"
	"strings"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/await"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/machine"
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

// producer is in the comment of archives and in the metadata of safetensors that this package writes.
const producer = "prismtop"

// Own reports whether this package wrote a file of weights.
func Own(path string) bool {
	f, info, err := inputfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if npy.CommentOf(f, info.Size()) == producer {
		return true
	}
	head := make([]byte, 8+len(safetensorsBegin))
	_, err = io.ReadFull(f, head)
	return err == nil && isSafetensors(head) && string(head[8:]) == safetensorsBegin
}

func writeNPZ(w io.Writer, tensors []Tensor) error {
	archive := npy.NewWriter(w)
	if err := archive.Comment(producer); err != nil {
		return err
	}
	for _, t := range tensors {
		if err := npy.Add(archive, t.Name, t.Shape, t.Values); err != nil {
			return err
		}
	}
	return archive.Close()
}

// Network is what a network takes from files of weights. A file may have its own names for the arrays, or
// those of another program.
type Network struct {
	Arrays  []Tensor               // in its order; those with numbers may be missing in a file, which then stand
	Ignored func(name string) bool // other names that files may have; nil for none
	Others  []Names
	Refused func(name string, shape []int64) string // as that of Names, for files under the network's own names
}

// stored is an array of a file. load reads its numbers as float32.
type stored struct {
	name  string
	shape []int64
	load  func() ([]float32, error)
}

// Read reads the arrays of a network from a file, converted to float32 and in the network's order. The
// format is found by content. Prefixes that wrappers of PyTorch put before names are left out; said has
// lines for the log about this. Any other difference of names or shapes is an error that names them, before
// numbers are read. The error names the file, or is that of ctx if it ends first.
func Read(ctx context.Context, path string, n Network) (tensors []Tensor, said []string, err error) {
	type result struct {
		tensors []Tensor
		said    []string
	}
	got, err := await.Result(ctx, func() (r result, err error) {
		f, info, err := inputfile.Open(path)
		if err != nil {
			return r, err
		}
		defer f.Close()
		r.tensors, r.said, err = read(ctx, f, info.Size(), n)
		return r, err
	})
	if err != nil && ctx.Err() == nil {
		return nil, nil, fmt.Errorf("weights %s: %w", path, err)
	}
	return got.tensors, got.said, err
}

func read(ctx context.Context, source io.ReaderAt, size int64, n Network) (tensors []Tensor, said []string, err error) {
	f := inputfile.ReaderAt{Context: ctx, Source: source}
	head := make([]byte, 512)
	length, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, bare(err)
	}
	var all []stored
	switch head = head[:length]; {
	case npy.IsArchive(head):
		all, said, err = listArchive(ctx, f, size)
	case isSafetensors(head):
		all, err = listSafetensors(f, size)
	case isLegacy(head):
		err = errLegacy
	case isHDF5(head):
		err = errHDF5
	default:
		err = errors.New("is neither an NPZ archive nor in safetensors format nor of torch.save")
	}
	if err == nil {
		var renamed []string
		tensors, renamed, err = n.take(all)
		said = append(said, renamed...)
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	return tensors, said, err
}

// hdf5Magic begins files of HDF5.
const hdf5Magic = "\x89HDF\r\n\x1a\n"

func isHDF5(head []byte) bool { return strings.HasPrefix(string(head), hdf5Magic) }

// errHDF5 refuses them.
var errHDF5 = errors.New("is an HDF5 file: must be NPZ, safetensors or of torch.save; " +
	`write it again in Python with h5py: numpy.savez("weights.npz", **{name: f[name][()] for name in names})`)

// listArchive lists the arrays of a zip archive: NPZ, or one of torch.save.
func listArchive(ctx context.Context, f io.ReaderAt, size int64) (all []stored, said []string, err error) {
	entries, err := npy.OpenArchive(f, size)
	if err != nil {
		return nil, nil, err
	}
	if len(entries) == 0 {
		return listTorch(ctx, f, size)
	}
	for _, e := range entries {
		h, err := e.Header()
		if err != nil {
			return nil, nil, fmt.Errorf("array %q: %w", e.Name(), err)
		}
		all = append(all, stored{e.Name(), h.Shape, func() ([]float32, error) { return loadArray(ctx, e, h) }})
	}
	return all, nil, nil
}

// loadArray reads an array of an archive of numpy.savez or numpy.savez_compressed.
func loadArray(ctx context.Context, e npy.Entry, h npy.Header) ([]float32, error) {
	kind, ok := npyKinds[h.Type]
	switch {
	case !ok:
		return nil, fmt.Errorf("%s has numbers of type %s: must be <f4 or <f8", e.Name(), h.Type)
	case h.Fortran && len(h.Shape) > 1:
		return nil, fmt.Errorf("%s is stored by columns: must be stored by rows", e.Name())
	}
	_, data, err := e.Load(ctx, func(npy.Header) error { return nil })
	if err != nil {
		return nil, err
	}
	return floats(kind, data), nil
}

// bare returns an error without its operation and path.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
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
	state, err := machine.StateFolder("trained weights")
	if err != nil {
		return "", err
	}
	return filepath.Join(state, name), nil
}
