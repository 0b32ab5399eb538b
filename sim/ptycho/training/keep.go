package training

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"prismtop/sim/checkpoint"
	"prismtop/sim/learning"
	"prismtop/sim/npy"
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

// variables returns those of the network.
func (t *training) variables() learning.Variables {
	return learning.Variables{Model: t.network.Model(), State: t.state}
}

// Checkpoint returns the state of the training between two iterations.
func (t *training) Checkpoint(ctx context.Context) (*checkpoint.State, error) {
	arrays, err := t.variables().Copy(ctx)
	if err != nil {
		return nil, err
	}
	return &checkpoint.State{Arrays: arrays, Scalars: t.position()}, nil
}

// position returns where the training is.
func (t *training) position() position {
	return position{
		Epoch: t.epoch, InEpoch: t.inEpoch, LearningRate: checkpoint.Number(t.lr),
		Best: checkpoint.Number(t.plateau.best), Bad: t.plateau.bad, Stale: t.plateau.stale,
		Elapsed: time.Since(t.began),
	}
}

// goTo makes a position that of the training.
func (t *training) goTo(p position) {
	t.epoch, t.inEpoch, t.lr = p.Epoch, p.InEpoch, float64(p.LearningRate)
	t.plateau = plateau{float64(p.Best), p.Bad, p.Stale}
	t.order, t.result, t.began = nil, nil, time.Now().Add(-p.Elapsed)
}

// Resume puts a new training into the state of a checkpoint of the same settings.
func (t *training) Resume(_ context.Context, c *checkpoint.Checkpoint) error {
	var p position
	if err := c.Scalars(&p); err != nil {
		return err
	}
	rate := float64(p.LearningRate)
	if p.Epoch < 0 || p.Epoch >= t.settings.Epochs || p.InEpoch < 0 || p.InEpoch >= t.settings.batches() ||
		p.Elapsed < 0 ||
		!(rate > 0) || math.IsInf(rate, 0) || math.IsNaN(float64(p.Best)) || p.Bad < 0 || p.Stale < 0 {
		return errors.New("the task's state is one that no run has")
	}
	if err := t.variables().Restore(c); err != nil {
		return err
	}
	t.goTo(p)
	return nil
}

// StartFrom gives a new training the weights of a file.
func (t *training) StartFrom(ctx context.Context, path string) (said []string, err error) {
	read, said, err := t.network.ReadWeights(ctx, path)
	if err != nil {
		return nil, err
	}
	return said, t.network.SetWeights(t.state, read)
}

// Suffixes are the ends of the names of the files that Save writes: the weights, the
// amplitude, the phase, and the complex object.
var Suffixes = []string{".npz", ".png", "-phase.png", "-object.npy"}

// Save writes the weights to base.npz, the newest picture of the test groups to
// base.png, its amplitude, and base-phase.png, and the object that the network makes of all groups to base-object.npy,
// complex: all or none. After an update that was cut short, which leaves no network to compute it, there is no object.
func (t *training) Save(ctx context.Context, base string, fresh bool) ([]string, error) {
	return learning.Saving(base, func() ([]string, error) {
		if t.result == nil {
			return nil, errors.New("nothing was learned yet")
		}
		all, err := t.keeper.Newest(t.variables(), t.network)
		if err != nil {
			return nil, err
		}
		data := make([][]byte, 3)
		if data[0], err = weights.EncodeNPZ(all); err != nil {
			return nil, err
		}
		for i, id := range []int{PictureAmplitude, PicturePhase} {
			p := t.Picture(id)
			if data[i+1], err = picture.EncodePNG16(ctx, p.Pixels, p.Width, p.Height); err != nil {
				return nil, err
			}
		}
		if t.keeper.Whole() {
			canvas, err := t.assemble(ctx, slices.Concat(t.groups.train, t.groups.test))
			if err != nil {
				return nil, err
			}
			var object bytes.Buffer
			if err := npy.Write(&object, []int{canvas.Side, canvas.Side}, canvas.Object); err != nil {
				return nil, err
			}
			data = append(data, object.Bytes())
		}
		return learning.WriteNamed(base, fresh, Suffixes[:len(data)], data)
	})
}

// KeepOutput keeps the weights before each update, in case one is cut short.
func (t *training) KeepOutput() { t.keeper.KeepOutput() }

// Finish leaves the weights of a complete training where inference looks for them.
func (t *training) Finish(context.Context) (string, error) {
	if t.leave == nil {
		return "", nil
	}
	path, err := t.leave(t.network.Config())
	if err != nil {
		return "", err
	}
	return learning.Leave("inference", path, t.network.Weights(t.state))
}
