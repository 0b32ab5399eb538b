package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/sim/checkpoint"
	"prismtop/sim/cyto"
	"prismtop/sim/nn"
	"prismtop/sim/picture"
	"prismtop/sim/weights"
)

// position is the part of a training's state that is no array. The batches follow from the
// seed and the position.
type position struct {
	Epoch   int           `json:"epoch"`
	InEpoch int           `json:"in_epoch"`   // minibatches of it so far
	Elapsed time.Duration `json:"elapsed_ns"` // of the epoch
}

// arrays lists the arrays of a checkpoint without their numbers: the model's variables
// but the gradients, which every iteration computes again.
func (t *training) arrays() []checkpoint.Array {
	var all []checkpoint.Array
	for _, v := range t.network.Model().Variables() {
		if v.Category != nn.Gradients {
			all = append(all, checkpoint.Array{Name: v.Name, Shape: slices.Clone([]int(v.Shape))})
		}
	}
	return all
}

// Checkpoint returns the state of the training between two iterations.
func (t *training) Checkpoint(ctx context.Context) (*checkpoint.State, error) {
	s := &checkpoint.State{Arrays: t.arrays(), Scalars: position{t.epoch, t.inEpoch, time.Since(t.began)}}
	for i := range s.Arrays {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.Arrays[i].Float32 = t.read(s.Arrays[i].Name)
	}
	return s, nil
}

// read returns a copy of a variable.
func (t *training) read(name string) []float32 {
	v, _ := t.network.Model().Index(name)
	values := make([]float32, t.network.Model().Variables()[v].Shape.Elements())
	t.state.Read(v, values)
	return values
}

// Resume puts a new training into the state of a checkpoint of the same settings.
func (t *training) Resume(ctx context.Context, c *checkpoint.Checkpoint) error {
	var p position
	if err := c.Scalars(&p); err != nil {
		return err
	}
	if p.Epoch < 0 || p.Epoch >= t.settings.Epochs || p.InEpoch < 0 || p.InEpoch >= t.train.Batches() || p.Elapsed < 0 {
		return errors.New("the task's state is one that no run has")
	}
	arrays, err := c.Take(t.arrays())
	if err != nil {
		return err
	}
	for i, v := range t.network.Model().Variables() {
		if a, ok := arrays[v.Name]; ok {
			t.state.Write(i, a.Float32)
		}
	}
	t.epoch, t.inEpoch, t.began = p.Epoch, p.InEpoch, time.Now().Add(-p.Elapsed)
	return errors.Join(t.adopt(ctx), t.train.Seek(t.epoch, t.inEpoch))
}

// adopt gives all replicas the variables of the first, which were replaced.
func (t *training) adopt(ctx context.Context) error {
	if t.settings.Replicas == 1 {
		return nil
	}
	return t.load(ctx)
}

// mark is where a training returns to.
type mark struct {
	variables      [][]float32 // nil for gradients
	epoch, inEpoch int
	began          time.Time
	values         profiles.Values
	shown          slice
}

// errNoMark refuses a mark at the end.
var errNoMark = errors.New("the training is complete")

// Mark keeps the variables and the position.
func (t *training) Mark(context.Context) error {
	if t.done {
		return errNoMark
	}
	m := &mark{epoch: t.epoch, inEpoch: t.inEpoch, began: t.began, values: t.values, shown: t.heldOut.shown}
	for _, v := range t.network.Model().Variables() {
		var values []float32
		if v.Category != nn.Gradients {
			values = t.read(v.Name)
		}
		m.variables = append(m.variables, values)
	}
	t.marked = m
	return nil
}

// Return goes back to the mark, bit for bit. The settings stay as they are.
func (t *training) Return(ctx context.Context) error {
	m := t.marked
	if m == nil {
		return errNoMark
	}
	for i, values := range m.variables {
		if values != nil {
			t.state.Write(i, values)
		}
	}
	t.epoch, t.inEpoch, t.began, t.values, t.done = m.epoch, m.inEpoch, m.began, m.values, false
	t.heldOut.shown = m.shown
	if err := t.adopt(ctx); err != nil {
		return err
	}
	return t.train.Seek(t.epoch, t.inEpoch)
}

// Unmark forgets the mark, so that epochs can end again.
func (t *training) Unmark() { t.marked = nil }

// StartFrom gives a new training the weights of a file.
func (t *training) StartFrom(ctx context.Context, path string) error {
	if err := t.startFrom(ctx, path); err != nil {
		return err
	}
	return t.adopt(ctx)
}

// KeepOutput keeps the weights before each update, in case one is cut short.
func (t *training) KeepOutput() { t.keeps = true }

// keepWeights copies the weights if they are to be kept.
func (t *training) keepWeights() {
	if !t.keeps {
		return
	}
	all := t.network.StateDict()
	if t.kept == nil {
		t.kept = make([][]float32, len(all))
		for i := range all {
			t.kept[i] = t.read(all[i].Name)
		}
		return
	}
	for i := range all {
		v, _ := t.network.Model().Index(all[i].Name)
		t.state.Read(v, t.kept[i])
	}
}

// errCutShort refuses weights that an update left half changed.
var errCutShort = errors.New("the last update was cut short, and with it the weights")

// weights returns the newest complete weights by their names in files.
func (t *training) weights() ([]weights.Tensor, error) {
	switch {
	case !t.broken:
		return t.network.Weights(t.state), nil
	case t.kept == nil:
		return nil, errCutShort
	}
	all := t.network.StateDict()
	for i := range all {
		all[i].Values = t.kept[i]
	}
	return all, nil
}

// Suffixes are the ends of the names of the files that Save writes: the weights of a
// training or the image of a prediction, and a plane of a held-out volume.
var Suffixes = []string{weightsSuffix, planeSuffix}

const (
	weightsSuffix = ".npz"
	planeSuffix   = ".png"
)

// Save writes the weights to base.npz, and the newest prediction of a held-out plane to
// base.png: both or neither.
func (t *training) Save(ctx context.Context, base string, fresh bool) ([]string, error) {
	return saving(base, func() ([]string, error) {
		if !t.measured {
			return nil, errors.New("no held-out volume was predicted yet")
		}
		all, err := t.weights()
		if err != nil {
			return nil, err
		}
		data, err := weights.EncodeNPZ(all)
		if err != nil {
			return nil, err
		}
		return writeBeside(ctx, base, fresh, data, t.Picture(PicturePrediction))
	})
}

// saving adds to an error the path that could not be written.
func saving(base string, save func() ([]string, error)) ([]string, error) {
	paths, err := save()
	if err == nil {
		return paths, nil
	}
	at := base
	var path *fs.PathError
	if errors.As(err, &path) {
		at, err = path.Path, path.Err
	}
	return nil, fmt.Errorf("saving %s: %w", at, err)
}

// writeBeside writes data and a picture to files with the Suffixes.
func writeBeside(ctx context.Context, base string, fresh bool, data []byte, p *profiles.Picture) ([]string, error) {
	plane, err := picture.EncodePNG16(ctx, p.Pixels, p.Width, p.Height)
	if err != nil {
		return nil, err
	}
	named := func(base string) []string { return []string{base + weightsSuffix, base + planeSuffix} }
	if !fresh {
		return named(base), atomicfile.WriteTogether(named(base), [][]byte{data, plane}, 0o666)
	}
	return atomicfile.WriteNew(func(n int) []string {
		if n == 1 {
			return named(base)
		}
		return named(fmt.Sprintf("%s-%d", base, n))
	}, [][]byte{data, plane}, 0o666)
}

// Finish leaves the weights of a complete training where predictions look for them.
func (t *training) Finish(context.Context) (string, error) {
	if t.leave == nil {
		return "", nil
	}
	path, err := t.leave(t.settings.Experiment, t.network.Config())
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = weights.Write(path, t.network.Weights(t.state))
	}
	if err != nil {
		return "", fmt.Errorf("the weights are not kept for predictions: %w", err)
	}
	return "weights for predictions in " + path, nil
}

// TrainedPath returns the file of the weights that a training leaves for an experiment:
// prismtop/cyto/weights-segmentation-3d.npz in $XDG_STATE_HOME, which is ~/.local/state
// unless set.
func TrainedPath(experiment string, c cyto.Config) (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // as the standard wants relative ones to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no folder for trained weights: %w; set XDG_STATE_HOME", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "prismtop", "cyto", fmt.Sprintf("weights-%s-%dd.npz", experiment, c.Axes)), nil
}
