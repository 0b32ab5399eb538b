package inference

import (
	"context"

	"prismtop/profiles/settings"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
	"prismtop/sim/weights"
	"prismtop/sim/workload"
)

// This file moves an inference from one device to another, and goes on after one has failed.

// keep keeps weights from which the task can go on where the device in use fails.
func (t *Task) keep(all []weights.Tensor) {
	if t.kept = nil; t.device.Beside() {
		t.kept = all
	}
}

// move moves the inference to the device of new settings; false if it is there. After an error it is where it was.
func (t *Task) move(ctx context.Context, v settings.Values) (moved bool, err error) {
	d := &t.device
	backend, note, err := d.Elsewhere(t.v.Text(settings.Device), v.Text(settings.Device))
	if backend == nil {
		return false, err
	}
	all := t.network.Weights(t.state)
	if err := d.Failure(); err != nil {
		return false, d.Refuse(ctx, backend, err)
	}
	state, p, err := t.loaded(ctx, v, backend, all)
	if err != nil {
		return false, d.Refuse(ctx, backend, err)
	}
	t.free()
	d.Use(backend, note)
	t.settle(state, p, all)
	return true, nil
}

// loaded makes a state with weights on a device, and the program of settings on it.
func (t *Task) loaded(ctx context.Context, v settings.Values, backend nn.Backend, all []weights.Tensor) (state nn.State,
	p *program, err error) {
	if state, err = backend.NewState(ctx, t.network.Model().Variables()); err != nil {
		return nil, nil, err
	}
	if err = t.network.SetWeights(state, all); err == nil {
		p, err = t.load(ctx, planOptions(v), backend, state)
	}
	if err != nil {
		state.Close()
		return nil, nil, err
	}
	return state, p, nil
}

// settle goes on with what was loaded on another device. Its results are not compared with
// those of the one before, which rounds in its own way.
func (t *Task) settle(state nn.State, p *program, all []weights.Tensor) {
	t.state, t.programs = state, []*program{p}
	t.keep(all)
	t.first, t.runs = map[ptycho.Precision]*results{}, 0
}

// Fallback returns the settings that must change for the inference to continue on the processor.
func (t *Task) Fallback(_ error, _ settings.Values) (sets []settings.Assignment, ok bool) {
	return []settings.Assignment{{Key: settings.Device, Value: "cpu"}}, t.device.Beside() && t.kept != nil
}

// Recover continues on the processor with the group that the device did not compute.
func (t *Task) Recover(ctx context.Context, v settings.Values) (workload.Recovered, error) {
	from, all := workload.Recovered{Unit: int32(t.pass)}, t.kept
	state, p, err := t.loaded(ctx, v, t.device.Processor, all)
	if err != nil {
		return from, err
	}
	t.free()
	t.device.Use(t.device.Processor, "")
	t.settle(state, p, all)
	t.v, t.changed = v, true
	t.expect(v)
	return from, t.use(ctx, v)
}
