package learning

import (
	"context"
	"time"

	"prismtop/profiles"
	"prismtop/sim/checkpoint"
	"prismtop/sim/nn"
)

// Kept is the newest state that is known to be good, of a training whose device can fail: a copy of its variables, and
// its position. The zero value has none.
type Kept[P any] struct {
	Position P
	Since    int64 // iterations since, which the training counts

	arrays []checkpoint.Array
	at     time.Time
	took   time.Duration
}

// A copy is made every keepWithin, unless that took more than a share of the time, 1/keepingShare.
const (
	keepWithin   = 2 * time.Second
	keepingShare = 100
)

// Has reports whether there is a copy.
func (k *Kept[P]) Has() bool { return k.arrays != nil }

// Keep copies the state every few seconds from a device that can fail. The iteration rec is
// then not compared with others.
func (k *Kept[P]) Keep(ctx context.Context, d *Device, v Variables, p P, rec *profiles.Iteration) error {
	if !d.Beside() || k.Has() && time.Since(k.at) < max(keepWithin, keepingShare*k.took) {
		return nil
	}
	rec.Flags |= profiles.Warmup
	return k.Now(ctx, d, v, p)
}

// Now copies the state.
func (k *Kept[P]) Now(ctx context.Context, d *Device, v Variables, p P) error {
	began := time.Now()
	arrays, err := v.Copy(ctx)
	if err == nil {
		err = d.Failure()
	}
	if err != nil {
		return err
	}
	*k = Kept[P]{Position: p, arrays: arrays, at: time.Now()}
	k.took = k.at.Sub(began)
	return nil
}

// Restore returns a state of the variables with the numbers of the copy, on another backend.
func (k *Kept[P]) Restore(ctx context.Context, of *nn.Model, b nn.Backend) (nn.State, error) {
	state, err := b.NewState(ctx, of.Variables())
	if err != nil {
		return nil, err
	}
	Variables{Model: of, State: state}.write(k.arrays)
	return state, nil
}
