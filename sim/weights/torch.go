package weights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"prismtop/sim/npy"
)

// The format of torch.save since PyTorch 1.6: a zip archive, not compressed, with the entries
// NAME/data.pkl, a pickle of the saved object in which storages are named, and NAME/data/KEY, the
// numbers of each storage.

// errLegacy refuses those files and the tar archives before them.
var errLegacy = errors.New("is in torch.save's format from before PyTorch 1.6, a series of pickles: must be the zip " +
	"archive written since; " +
	`write it again in Python with torch.save(torch.load("old.pt", map_location="cpu"), "new.pt")`)

// isLegacy reports whether a file that begins with head is a bare pickle or a tar archive.
func isLegacy(head []byte) bool {
	return len(head) > 1 && head[0] == 0x80 && head[1] < 6 || len(head) > 262 && string(head[257:262]) == "ustar"
}

// containers are the keys under which checkpoints keep a state_dict: Lightning's, and those of usual
// training programs.
var containers = []string{"state_dict", "model_state_dict", "model", "net"}

// torchKinds are the numbers that are read, by the class of their storage.
var torchKinds = map[string]kind{"FloatStorage": float32s, "DoubleStorage": float64s, "HalfStorage": float16s,
	"BFloat16Storage": bfloat16s}

// torchFile is an archive of torch.save.
type torchFile struct {
	ctx     context.Context
	file    io.ReaderAt
	entries []npy.Member
	folder  string          // before the names of entries
	checked map[string]bool // those whose checksum was compared
	left    *budget
	buffer  [32 << 10]byte
	scratch []byte // of a view that is not row by row
}

// listTorch lists the tensors of an archive of torch.save. said names where in it they are, unless the
// archive is a state_dict itself.
func listTorch(ctx context.Context, f io.ReaderAt, size int64) (all []stored, said []string, err error) {
	members, err := npy.OpenZip(f, size)
	if err != nil {
		return nil, nil, fmt.Errorf("damaged file of torch.save: %w", err)
	}
	var program npy.Member
	scripted, keras, bundle := false, false, ""
	for _, e := range members {
		switch path.Base(e.Name) {
		case "data.pkl":
			program = e
		case "constants.pkl":
			scripted = true
		case "model.keras", "model.weights.h5":
			keras = true
		case "model.pth":
			if bundle == "" || strings.Contains(e.Name, "diffraction_to_obj") {
				bundle = e.Name
			}
		}
	}
	switch {
	case scripted:
		return nil, nil, errors.New("is a TorchScript archive, which holds a program; " +
			`write its weights in Python with torch.save(torch.jit.load("model.pt").state_dict(), "weights.pt")`)
	case keras:
		return nil, nil, errors.New("is a Keras model, HDF5 in a zip archive; convert it: prismtop weights keras > " +
			"keras.py; python3 keras.py MODEL weights.npz")
	case bundle != "":
		return nil, nil, fmt.Errorf("is a bundle of models; take one out: unzip -p FILE %s > model.pth",
			printed(bundle))
	case program.File == nil:
		return nil, nil, errors.New("is a zip archive, but neither NPZ nor of torch.save")
	}
	t := &torchFile{ctx: ctx, file: f, entries: members, checked: map[string]bool{},
		left: &budget{left: budgetFactor*size + budgetFloor}}
	t.folder = strings.TrimSuffix(program.Name, "data.pkl")
	if err := t.left.take(int64(len(members)) * 400); err != nil {
		return nil, nil, err
	}
	for _, e := range members {
		if e.Name == t.folder+"byteorder" {
			order, err := t.read(e)
			if err != nil || strings.TrimSpace(order) != "little" {
				return nil, nil, fmt.Errorf("holds numbers of byte order %s: must be little", printed(order))
			}
		}
	}
	text, err := t.read(program)
	if err != nil {
		return nil, nil, err
	}
	root, err := unpickle(text, t.left)
	if err != nil {
		var refused *globalError
		if errors.As(err, &refused) || errors.Is(err, errBudget) {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("damaged file of torch.save: %w", err)
	}
	state, at, err := stateDict(root)
	if err != nil {
		return nil, nil, err
	}
	if at != "" {
		said = []string{fmt.Sprintf("the weights are those under %q in the file", at)}
	}
	all, err = t.list(state)
	return all, said, err
}

// read returns the content of an entry.
func (t *torchFile) read(e npy.Member) (string, error) {
	if err := t.left.take(int64(min(e.UncompressedSize64, math.MaxInt64))); err != nil {
		return "", err
	}
	var text strings.Builder
	text.Grow(int(e.UncompressedSize64))
	err := t.copy(&text, e)
	return text.String(), err
}

// copy writes an entry, which must be in the archive as it is, and compares its checksum.
func (t *torchFile) copy(to io.Writer, e npy.Member) error {
	if !e.Stored() {
		return fmt.Errorf("%s is compressed: must be stored, as torch.save does", printed(e.Name))
	}
	r, err := e.Open()
	if err == nil {
		defer r.Close()
		_, err = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{r}, t.buffer[:]) // and not one of their own
	}
	if err != nil {
		return t.damaged("%s: %w", printed(e.Name), err)
	}
	return nil
}

// damaged returns an error, or that of the context.
func (t *torchFile) damaged(format string, a ...any) error {
	if t.ctx.Err() != nil {
		return t.ctx.Err()
	}
	return fmt.Errorf("damaged file of torch.save: "+format, a...)
}

// numbers returns the bytes of a storage, after their checksum was compared.
func (t *torchFile) numbers(of *storage, size int64) (io.ReaderAt, error) {
	name := t.folder + "data/" + of.key
	i := slices.IndexFunc(t.entries, func(e npy.Member) bool { return e.Name == name })
	if i < 0 {
		return nil, t.damaged("the storage %s is missing", printed(of.key))
	}
	e := t.entries[i]
	if of.count > int64(min(e.UncompressedSize64, math.MaxInt64))/size {
		return nil, t.damaged("%s: %d bytes for %d numbers", printed(e.Name), e.UncompressedSize64, of.count)
	}
	if !t.checked[of.key] {
		if err := t.copy(io.Discard, e); err != nil {
			return nil, err
		}
		t.checked[of.key] = true
	}
	at, err := e.DataOffset()
	if err != nil {
		return nil, t.damaged("%s: %w", printed(e.Name), err)
	}
	return io.NewSectionReader(t.file, at, int64(e.UncompressedSize64)), nil
}

// stateDict finds the state_dict of a saved object, and the key that leads to it.
func stateDict(root any) (state *dict, at string, err error) {
	d, ok := root.(*dict)
	if !ok {
		return nil, "", fmt.Errorf("holds %s: must hold a state_dict, or a dict with one under %s", described(root),
			strings.Join(containers, ", "))
	}
	for _, key := range containers {
		for i, k := range d.keys {
			if inner, isDict := d.values[i].(*dict); isDict && k == key && inner.tensors() {
				return inner, key, nil
			}
		}
	}
	if !d.tensors() {
		return nil, "", fmt.Errorf("holds no state_dict: must be one, or a dict with one under %s",
			strings.Join(containers, ", "))
	}
	return d, "", nil
}

// tensors reports whether the dict has any.
func (d *dict) tensors() bool {
	for _, v := range d.values {
		if _, ok := v.(*view); ok {
			return true
		}
	}
	return false
}

func described(v any) string {
	switch v := v.(type) {
	case *view:
		return "a single tensor"
	case *list, tuple:
		return "a list"
	case *storage:
		return "a storage"
	case global:
		module, name, _ := cutGlobal(v)
		return module + "." + name
	}
	return "a single value"
}

// list lists the tensors of a state_dict. What else it holds, as _extra_state, is left out.
func (t *torchFile) list(d *dict) (all []stored, err error) {
	if err := t.left.take(128 * int64(len(d.keys))); err != nil {
		return nil, err
	}
	all = make([]stored, 0, len(d.keys))
	for i, k := range d.keys {
		v, ok := d.values[i].(*view)
		if !ok {
			continue
		}
		name, ok := k.(string)
		if !ok {
			return nil, errors.New("holds a tensor whose name is no text")
		}
		all = append(all, stored{name: name, shape: v.shape,
			load: func() ([]float32, error) { return t.load(name, v) }})
	}
	return all, nil
}

// load reads the numbers of a view, row by row.
func (t *torchFile) load(name string, v *view) ([]float32, error) {
	k, ok := torchKinds[v.of.class]
	if !ok {
		return nil, fmt.Errorf("%s has numbers of torch's %s: must be FloatStorage, DoubleStorage, HalfStorage or "+
			"BFloat16Storage", name, v.of.class)
	}
	count, span, err := v.extent()
	if err != nil {
		return nil, t.damaged("%s: %w", name, err)
	}
	r, err := t.numbers(v.of, int64(k.size))
	if err != nil {
		return nil, err
	}
	if err := t.left.take(4 * count); err != nil {
		return nil, err
	}
	values := make([]float32, 0, count)
	if span == count && v.rowByRow() {
		return t.stream(r, k, v.offset, count, values)
	}
	if bytes := span * int64(k.size); int64(cap(t.scratch)) < bytes {
		if err := t.left.take(bytes); err != nil {
			return nil, err
		}
		t.scratch = make([]byte, bytes)
	}
	data := t.scratch[:span*int64(k.size)]
	if _, err := r.ReadAt(data, v.offset*int64(k.size)); err != nil {
		return nil, t.damaged("%w", err)
	}
	at := make([]int64, len(v.shape)) // the index of the number
	for range count {
		i := int64(0)
		for axis, n := range at {
			i += n * v.strides[axis]
		}
		values = append(values, k.read(data[i*int64(k.size):]))
		for axis := len(at) - 1; axis >= 0; axis-- {
			if at[axis]++; at[axis] < v.shape[axis] {
				break
			}
			at[axis] = 0
		}
	}
	return values, nil
}

// stream reads numbers that follow one another.
func (t *torchFile) stream(r io.ReaderAt, k kind, from, count int64, values []float32) ([]float32, error) {
	for at := int64(0); at < count; {
		n := min(count-at, int64(len(t.buffer)/k.size))
		part := t.buffer[:n*int64(k.size)]
		if _, err := r.ReadAt(part, (from+at)*int64(k.size)); err != nil {
			return nil, t.damaged("%w", err)
		}
		for i := 0; i < len(part); i += k.size {
			values = append(values, k.read(part[i:]))
		}
		at += n
	}
	return values, nil
}

// extent returns the numbers of a view, and those from its first to its last in the storage, which has
// them all.
func (v *view) extent() (count, span int64, err error) {
	count, last := int64(1), int64(0)
	for i, n := range v.shape {
		stride := v.strides[i]
		switch {
		case n < 0 || stride < 0 || n > 0 && count > math.MaxInt64/8/n:
			return 0, 0, fmt.Errorf("the shape (%s) with strides (%s)", npy.JoinShape(v.shape),
				npy.JoinShape(v.strides))
		case n > 1 && stride > (math.MaxInt64/8-last)/(n-1):
			return 0, 0, fmt.Errorf("the strides (%s)", npy.JoinShape(v.strides))
		case n > 1:
			last += (n - 1) * stride
		}
		count *= n
	}
	if count > 0 {
		span = last + 1
	}
	if v.offset < 0 || v.offset > v.of.count || span > v.of.count-v.offset {
		return 0, 0, fmt.Errorf("numbers %d to %d of a storage of %d", v.offset, v.offset+span, v.of.count)
	}
	return count, span, nil
}

// rowByRow reports whether the numbers follow one another in the order of rows.
func (v *view) rowByRow() bool {
	step := int64(1)
	for i := len(v.shape) - 1; i >= 0; i-- {
		if v.shape[i] != 1 && v.strides[i] != step {
			return false
		}
		step *= v.shape[i]
	}
	return true
}
