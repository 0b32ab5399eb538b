package training

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"prismtop/profiles/atomicfile"
	"prismtop/sim/checkpoint"
	"prismtop/sim/nn"
	"prismtop/sim/picture"
	"prismtop/sim/weights"
)

// position is the part of a training's state that is no array. The order of the groups
// follows from the seed and the epoch.
type position struct {
	Epoch        int               `json:"epoch"`
	InEpoch      int               `json:"in_epoch"` // minibatches of it so far
	LearningRate checkpoint.Number `json:"learning_rate"`
	Best         checkpoint.Number `json:"best"` // test loss
	Bad          int               `json:"bad"`
	Stale        int               `json:"stale"`
	Elapsed      time.Duration     `json:"elapsed_ns"` // of the epoch
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
	s := &checkpoint.State{Arrays: t.arrays(), Scalars: position{
		Epoch: t.epoch, InEpoch: t.inEpoch, LearningRate: checkpoint.Number(t.lr),
		Best: checkpoint.Number(t.plateau.best), Bad: t.plateau.bad, Stale: t.plateau.stale, Elapsed: time.Since(t.began),
	}}
	for i := range s.Arrays {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, _ := t.network.Model().Index(s.Arrays[i].Name)
		s.Arrays[i].Float32 = make([]float32, t.network.Model().Variables()[v].Shape.Elements())
		t.state.Read(v, s.Arrays[i].Float32)
	}
	return s, nil
}

// Resume puts a new training into the state of a checkpoint of the same settings.
func (t *training) Resume(_ context.Context, c *checkpoint.Checkpoint) error {
	var p position
	if err := c.Scalars(&p); err != nil {
		return err
	}
	rate := float64(p.LearningRate)
	if p.Epoch < 0 || p.Epoch >= t.settings.Epochs || p.InEpoch < 0 || p.InEpoch >= t.settings.batches() || p.Elapsed < 0 ||
		!(rate > 0) || math.IsInf(rate, 0) || math.IsNaN(float64(p.Best)) || p.Bad < 0 || p.Stale < 0 {
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
	t.epoch, t.inEpoch, t.lr = p.Epoch, p.InEpoch, rate
	t.plateau = plateau{float64(p.Best), p.Bad, p.Stale}
	t.order, t.result, t.began = nil, nil, time.Now().Add(-p.Elapsed)
	return nil
}

// StartFrom gives a new training the weights of a file.
func (t *training) StartFrom(ctx context.Context, path string) error {
	read, err := t.network.ReadWeights(ctx, path)
	if err != nil {
		return err
	}
	return t.network.SetWeights(t.state, read)
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
			v, _ := t.network.Model().Index(all[i].Name)
			t.kept[i] = make([]float32, t.network.Model().Variables()[v].Shape.Elements())
		}
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

// Suffixes are the ends of the names of the files that Save writes: the weights, the
// amplitude, and the phase.
var Suffixes = []string{".npz", ".png", "-phase.png"}

// Save writes the weights to base.npz, and the newest picture of the test groups to
// base.png, its amplitude, and base-phase.png: all or none.
func (t *training) Save(ctx context.Context, base string, fresh bool) ([]string, error) {
	paths, err := t.save(ctx, base, fresh)
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

func (t *training) save(ctx context.Context, base string, fresh bool) ([]string, error) {
	if t.result == nil {
		return nil, errors.New("nothing was learned yet")
	}
	all, err := t.weights()
	if err != nil {
		return nil, err
	}
	data := make([][]byte, len(Suffixes))
	if data[0], err = weights.EncodeNPZ(all); err != nil {
		return nil, err
	}
	for i, id := range []int{PictureAmplitude, PicturePhase} {
		p := t.Picture(id)
		if data[i+1], err = picture.EncodePNG16(ctx, p.Pixels, p.Width, p.Height); err != nil {
			return nil, err
		}
	}
	named := func(base string) []string {
		paths := make([]string, len(Suffixes))
		for i, suffix := range Suffixes {
			paths[i] = base + suffix
		}
		return paths
	}
	if !fresh {
		return named(base), atomicfile.WriteTogether(named(base), data, 0o666)
	}
	return atomicfile.WriteNew(func(n int) []string {
		if n == 1 {
			return named(base)
		}
		return named(fmt.Sprintf("%s-%d", base, n))
	}, data, 0o666)
}

// Finish leaves the weights of a complete training where inference looks for them.
func (t *training) Finish(context.Context) (string, error) {
	if t.leave == nil {
		return "", nil
	}
	path, err := t.leave(t.network.Config())
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = weights.Write(path, t.network.Weights(t.state))
	}
	if err != nil {
		return "", fmt.Errorf("the weights are not kept for inference: %w", err)
	}
	return "weights for inference in " + path, nil
}
