package im2im

import (
	"context"
	"errors"

	"prismtop/profiles/settings"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/workload"
)

// This file moves a training or a prediction from one device to another, and goes on after one has failed.

// move moves the training to the device of new settings; false if it is there. After an error it is where it was.
func (t *training) move(ctx context.Context, s *Settings) (bool, error) {
	moved, note, err := t.elsewhere(ctx, t.settings.Device, s.Device)
	if moved == nil {
		return false, err
	}
	if moved.device.Beside() && t.marked == nil { // it may fail before its state is copied
		err = t.kept.Now(ctx, &t.device, t.variables(), t.position())
	}
	if err == nil {
		err = t.settle(ctx, moved, note, s)
	}
	if err != nil {
		return false, t.refuse(ctx, moved, err)
	}
	return true, nil
}

// settle goes on with a model on another device. After an error the training is where it was.
func (t *training) settle(ctx context.Context, moved *Model, note string, s *Settings) error {
	windows, err := moved.windows(ctx, s)
	if err != nil {
		return err
	}
	learner, err := moved.learns(ctx, s)
	if err != nil {
		windows.Close()
		return err
	}
	t.unload()
	t.heldOut.close()
	t.use(moved, note)
	t.learner, t.heldOut.windows, t.heldOut.settings = learner, windows, *s
	if !t.device.Beside() {
		t.kept = learning.Kept[position]{}
	}
	return nil
}

// move moves the prediction to the device of new settings; false if it is there. After an error it is where it was.
func (p *prediction) move(ctx context.Context, s *Settings) (bool, error) {
	moved, note, err := p.elsewhere(ctx, p.settings.Device, s.Device)
	if moved == nil {
		return false, err
	}
	if err := p.settle(ctx, moved, note, s); err != nil {
		return false, p.refuse(ctx, moved, err)
	}
	return true, nil
}

// settle goes on with a model on another device. After an error the prediction is where it was.
func (p *prediction) settle(ctx context.Context, moved *Model, note string, s *Settings) error {
	windows, err := moved.windows(ctx, s)
	if err != nil {
		return err
	}
	p.windows.Close()
	p.use(moved, note)
	p.begin(windows)
	return nil
}

// dataError is an error of an image that is read or written, which no other device computes without.
type dataError struct{ error }

func (e *dataError) Unwrap() error { return e.error }

// onProcessor returns the settings that must change for the model to continue on the processor after an error: one of
// its GPU, not of the images or of the loss. Replicas have a GPU each, and leave them together.
func (m *Model) onProcessor(err error) (sets []settings.Assignment, ok bool) {
	var data *dataError
	if !m.device.Beside() || errors.As(err, &data) || errors.Is(err, workload.ErrDiverged) {
		return nil, false
	}
	sets = []settings.Assignment{{Key: settings.Device, Value: "cpu"}}
	if len(m.others) > 0 {
		sets = append(sets, settings.Assignment{Key: "replicas", Value: "1"})
	}
	return sets, true
}

// retreat returns the model on the processor, with the variables of a state there.
func (m *Model) retreat(state nn.State) *Model {
	moved := &Model{device: m.device, network: m.network, state: state}
	moved.device.Backend = m.device.Processor
	return moved
}

// Fallback returns the settings that must change for the training to continue on the processor.
func (t *training) Fallback(err error, _ settings.Values) ([]settings.Assignment, bool) {
	sets, ok := t.onProcessor(err)
	return sets, ok && t.kept.Has()
}

// Recover continues from the kept state on the processor.
func (t *training) Recover(ctx context.Context, v settings.Values) (from workload.Recovered, err error) {
	s, k := From(v), t.kept
	state, err := k.Restore(ctx, t.network.Model(), t.device.Processor)
	if err != nil {
		return from, err
	}
	t.device.Processor.SetThreads(share(s.Threads, 1))
	if err := t.settle(ctx, t.retreat(state), "", &s); err != nil {
		state.Close()
		return from, err
	}
	t.closeOthers()
	t.settings, t.done, t.marked = s, false, nil
	from = workload.Recovered{Lost: k.Since, Unit: int32(k.Position.Epoch)}
	return from, t.goTo(k.Position)
}

// Fallback returns the settings that must change for the prediction to continue on the processor.
func (p *prediction) Fallback(err error, _ settings.Values) ([]settings.Assignment, bool) {
	return p.onProcessor(err)
}

// Recover continues on the processor with the batch that the device did not predict.
func (p *prediction) Recover(ctx context.Context, v settings.Values) (from workload.Recovered, err error) {
	s := From(v)
	state, err := p.device.Processor.NewState(ctx, p.network.Model().Variables())
	if err != nil {
		return from, err
	}
	if err = p.network.SetWeights(state, p.weights); err == nil {
		err = p.settle(ctx, p.retreat(state), "", &s)
	}
	if err != nil {
		state.Close()
		return from, err
	}
	p.settings = s
	return workload.Recovered{Unit: int32(p.pass)}, p.images.Seek(p.pass, p.inPass)
}

var _, _ workload.Recoverer = (*training)(nil), (*prediction)(nil)
