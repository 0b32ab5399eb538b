package training

import (
	"context"
	"errors"

	"prismtop/profiles/settings"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
	"prismtop/sim/workload"
)

// This file moves a training from one device to another, and goes on after one has failed.

// programs compiles both plans and loads them on a device.
func (t *training) programs(ctx context.Context, o ptycho.PlanOptions, backend nn.Backend, state nn.State) (learns,
	objects *program, err error) {
	plan, err := t.network.TrainingPlan(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	if learns, err = load(ctx, plan, backend, state); err != nil {
		return nil, nil, err
	}
	learns.write(ptycho.ProbeInput, t.groups.probe)
	if plan, err = t.network.InferencePlan(ctx, o); err == nil {
		objects, err = load(ctx, plan, backend, state)
	}
	if err != nil {
		learns.close()
		return nil, nil, err
	}
	return learns, objects, nil
}

// move moves the training to the device of new settings; false if it is there. After an error it is where it was.
func (t *training) move(ctx context.Context, s *Settings) (moved bool, err error) {
	d := &t.device
	backend, note, err := d.Elsewhere(t.settings.Device, s.Device)
	if backend == nil {
		return false, err
	}
	state, err := backend.NewState(ctx, t.network.Model().Variables())
	if err != nil {
		return false, d.Refuse(ctx, backend, err)
	}
	var learns, objects *program
	if err = t.variables().CopyTo(ctx, d.Backend, backend, state); err == nil {
		learns, objects, err = t.programs(ctx, s.plan(), backend, state)
	}
	if err != nil {
		state.Close()
		return false, d.Refuse(ctx, backend, err)
	}
	t.settle(backend, note, state, learns, objects)
	return true, nil
}

// settle goes on with what was loaded on another device.
func (t *training) settle(backend nn.Backend, note string, state nn.State, learns, objects *program) {
	t.unload()
	t.state.Close()
	t.device.Use(backend, note)
	t.state, t.program, t.objects = state, learns, objects
	t.kept = learning.Kept[position]{}
}

// Remarks returns what a user should know of the device in use.
func (t *training) Remarks() []string { return t.device.Remarks() }

// Fallback returns the settings that must change for the training to continue on the processor.
func (t *training) Fallback(err error, _ settings.Values) (sets []settings.Assignment, ok bool) {
	if !t.device.Beside() || !t.kept.Has() || errors.Is(err, workload.ErrDiverged) {
		return nil, false
	}
	return []settings.Assignment{{Key: settings.Device, Value: "cpu"}}, true
}

// Recover continues from the kept state on the processor.
func (t *training) Recover(ctx context.Context, v settings.Values) (from workload.Recovered, err error) {
	s, k := From(v), t.kept
	state, err := k.Restore(ctx, t.network.Model(), t.device.Processor)
	if err != nil {
		return from, err
	}
	learns, objects, err := t.programs(ctx, s.plan(), t.device.Processor, state)
	if err != nil {
		state.Close()
		return from, err
	}
	t.settle(t.device.Processor, "", state, learns, objects)
	t.settings, t.done, t.changed = s, false, true
	t.device.SetThreads(threads(s.Threads))
	t.goTo(k.Position)
	return workload.Recovered{Lost: k.Since, Unit: int32(k.Position.Epoch)}, nil
}
