package im2im

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"prismtop/profiles"
	"prismtop/sim/checkpoint"
	"prismtop/sim/cyto"
	"prismtop/sim/learning"
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

// variables returns those of the network.
func (m *Model) variables() learning.Variables {
	return learning.Variables{Model: m.network.Model(), State: m.state}
}

// Checkpoint returns the state of the training between two iterations.
func (t *training) Checkpoint(ctx context.Context) (*checkpoint.State, error) {
	arrays, err := t.variables().Copy(ctx)
	if err == nil {
		err = t.device.Failure()
	}
	if err != nil {
		return nil, err
	}
	return &checkpoint.State{Arrays: arrays, Scalars: t.position()}, nil
}

// position returns where the training is.
func (t *training) position() position { return position{t.epoch, t.inEpoch, time.Since(t.began)} }

// goTo makes a position that of the training.
func (t *training) goTo(p position) error {
	t.epoch, t.inEpoch, t.began = p.Epoch, p.InEpoch, time.Now().Add(-p.Elapsed)
	return t.train.Seek(t.epoch, t.inEpoch)
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
	if err := t.variables().Restore(c); err != nil {
		return err
	}
	return errors.Join(t.adopt(ctx), t.goTo(p))
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
			values = t.variables().Read(v.Name)
		}
		m.variables = append(m.variables, values)
	}
	if err := t.device.Failure(); err != nil {
		return err
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
func (t *training) StartFrom(ctx context.Context, path string) ([]string, error) {
	all, said, err := t.network.ReadWeights(ctx, path)
	if err == nil {
		err = t.network.SetWeights(t.state, all)
	}
	if err != nil {
		return nil, err
	}
	return said, t.adopt(ctx)
}

// KeepOutput keeps the weights before each update, in case one is cut short.
func (t *training) KeepOutput() { t.keeper.KeepOutput() }

// Suffixes are the ends of the names of the files that Save writes: the weights of a
// training or the image of a prediction, and a plane of a held-out volume.
var Suffixes = []string{".npz", ".png"}

// Save writes the weights to base.npz, and the newest prediction of a held-out plane to
// base.png: both or neither.
func (t *training) Save(ctx context.Context, base string, fresh bool) ([]string, error) {
	return learning.Saving(base, func() ([]string, error) {
		if !t.measured {
			return nil, errors.New("no held-out volume was predicted yet")
		}
		all, err := t.keeper.Newest(t.variables(), t.network)
		if err == nil {
			err = t.device.Failure()
		}
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

// writeBeside writes data and a picture to files with the Suffixes.
func writeBeside(ctx context.Context, base string, fresh bool, data []byte, p *profiles.Picture) ([]string, error) {
	plane, err := picture.EncodePNG16(ctx, p.Pixels, p.Width, p.Height)
	if err != nil {
		return nil, err
	}
	return learning.WriteNamed(base, fresh, Suffixes, [][]byte{data, plane})
}

// Finish leaves the weights of a complete training where predictions look for them.
func (t *training) Finish(context.Context) (string, error) {
	if t.leave == nil {
		return "", nil
	}
	path, err := t.leave(t.settings.Experiment, t.network.Config())
	if err != nil {
		return "", err
	}
	all := t.network.Weights(t.state)
	if err := t.device.Failure(); err != nil {
		return "", err
	}
	return learning.Leave("predictions", path, all)
}

// TrainedPath returns the file of the weights that a training leaves for an experiment:
// prismtop/cyto/weights-segmentation-3d.npz in $XDG_STATE_HOME, which is ~/.local/state
// unless set.
func TrainedPath(experiment string, c cyto.Config) (string, error) {
	folder, err := weights.Folder("cyto")
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, fmt.Sprintf("weights-%s-%dd.npz", experiment, c.Axes)), nil
}
