package training

import (
	"context"
	"errors"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/checkpoint"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
	"prismtop/sim/workload"
)

// This file moves a training from one device to another, and goes on after one has failed.

// programs compiles both plans and loads them on a device.
func (t *training) programs(ctx context.Context, o ptycho.PlanOptions, backend nn.Backend, state nn.State) (learns, objects *program, err error) {
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
	t.kept = kept{}
}

// Remarks returns what a user should know of the device in use.
func (t *training) Remarks() []string { return t.device.Remarks() }

// kept is the newest state that is known to be good, of a training whose device can fail.
type kept struct {
	has      bool
	at       time.Time
	took     time.Duration
	since    int64 // iterations since
	position position
	arrays   []checkpoint.Array
}

// A copy is made every keepWithin, unless that took more than a share of the time, 1/keepingShare.
const (
	keepWithin   = 2 * time.Second
	keepingShare = 100
)

// keepState copies the state every few seconds from a device that can fail. An iteration that does is not compared with others.
func (t *training) keepState(ctx context.Context, rec *profiles.Iteration) error {
	k := &t.kept
	if !t.device.Beside() || k.has && time.Since(k.at) < max(keepWithin, keepingShare*k.took) {
		return nil
	}
	rec.Flags |= profiles.Warmup
	began := time.Now()
	arrays, err := t.variables().Copy(ctx)
	if err == nil {
		err = t.device.Failure()
	}
	if err != nil {
		return err
	}
	*k = kept{has: true, at: time.Now(), position: t.position(), arrays: arrays}
	k.took = k.at.Sub(began)
	return nil
}

// Fallback returns the settings that must change for the training to continue on the processor.
func (t *training) Fallback(err error, _ settings.Values) (sets []settings.Assignment, ok bool) {
	if !t.device.Beside() || !t.kept.has || errors.Is(err, workload.ErrDiverged) {
		return nil, false
	}
	return []settings.Assignment{{Key: settings.Device, Value: "cpu"}}, true
}

// Recover continues from the kept state on the processor.
func (t *training) Recover(ctx context.Context, v settings.Values) (from workload.Recovered, err error) {
	s, k := From(v), t.kept
	state, err := t.device.Processor.NewState(ctx, t.network.Model().Variables())
	if err != nil {
		return from, err
	}
	learning.Variables{Model: t.network.Model(), State: state}.Write(k.arrays)
	learns, objects, err := t.programs(ctx, s.plan(), t.device.Processor, state)
	if err != nil {
		state.Close()
		return from, err
	}
	t.settle(t.device.Processor, "", state, learns, objects)
	t.settings, t.done, t.changed = s, false, true
	t.device.SetThreads(threads(s.Threads))
	t.goTo(k.position)
	return workload.Recovered{Lost: k.since, Unit: int32(k.position.Epoch)}, nil
}
