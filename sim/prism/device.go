package prism

import (
	"context"
	"errors"
	"fmt"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/checkpoint"
	"prismtop/sim/nn"
	"prismtop/sim/optics"
	"prismtop/sim/workload"
)

// This file moves a reconstruction from one device to another, and goes on after one has failed.

// Device is the device on which a reconstruction is computed.
type Device struct {
	// Backend computes the plans.
	Backend nn.Backend

	// Host computes everything outside the plans. It shares its FFT plans with the processor's backend.
	Host optics.Host

	// Processor is the backend of the processor; nil if Backend is the only one.
	Processor nn.Backend

	// Open returns the backend of a value of the setting device: Processor, or one that it opens on a GPU. note says
	// why it is not the one that the value prefers; empty if it is. Open is nil if Backend is the only one.
	Open func(device string) (backend nn.Backend, note string, err error)

	// Resolve returns the device that a value of the setting stands for: "cpu", "cuda:0", "cuda:1". It may wait for the
	// driver.
	Resolve func(device string) string

	// Note is that of Open for Backend.
	Note string
}

// Close closes the backends.
func (d *Device) Close() {
	d.leave()
	if p := d.processor(); p != nil {
		p.Close()
	}
}

// leave closes the backend unless it is the processor's.
func (d *Device) leave() {
	if d.beside() {
		d.Backend.Close()
	}
}

// beside reports whether the plans are computed beside the processor.
func (d *Device) beside() bool { return d.Processor != nil && d.Backend != d.Processor }

// processor returns the backend of the processor, or the only one.
func (d *Device) processor() nn.Backend {
	if d.Processor != nil {
		return d.Processor
	}
	return d.Backend
}

// setThreads sets the number of threads of the host's part, too.
func (d *Device) setThreads(n int) {
	d.Backend.SetThreads(n)
	if d.beside() {
		d.Processor.SetThreads(n)
	}
}

// failure returns the error that a backend could not return; nil for none.
func failure(b nn.Backend) error {
	if f, ok := b.(nn.Fallible); ok {
		return f.Failure()
	}
	return nil
}

// admits returns an error if a backend cannot compute the field of the settings.
func admits(b nn.Backend, s *Settings) error {
	if of, ok := b.(nn.Bounded); ok && s.Size > of.LongestTransform() {
		return &deviceError{fmt.Errorf("size = %d: the GPU transforms lines of at most %d pixels", s.Size,
			of.LongestTransform())}
	}
	return nil
}

// advised adds to an error about a device's memory what would need less.
func advised(err error) error {
	if !nn.Short(err) {
		return err
	}
	return fmt.Errorf("%w; a smaller size or object_size needs less", err)
}

// move moves the reconstruction to the device of new settings, with the plan of o; false if it is there. After an
// error it is where it was.
func (r *Reconstruction) move(ctx context.Context, s *Settings, o PlanOptions) (moved bool, err error) {
	d := &r.device
	if s.Device == r.settings.Device || d.Open == nil || d.Resolve(s.Device) == d.Resolve(r.settings.Device) &&
		d.Note == "" {
		return false, nil
	}
	backend, note, err := d.Open(s.Device)
	if err != nil {
		return false, &workload.RefusedError{Err: err}
	}
	if backend == d.Backend {
		d.Note = note
		return false, nil
	}
	if backend != d.Processor && r.marked == nil { // the new device may fail before its state is copied
		err = r.keepNow(ctx)
	}
	var state nn.State
	var program *program
	if err == nil {
		err = admits(backend, s)
	}
	if err == nil {
		err = r.outlive()
	}
	if err == nil {
		state, program, err = r.carryTo(ctx, backend, r.nextProgram(), o)
	}
	if err != nil {
		r.dropKept()
		if backend != d.Processor {
			backend.Close()
		}
		if ctx.Err() != nil {
			return false, err
		}
		if r.failure() != nil {
			return false, err
		}
		return false, &workload.RefusedError{Err: advised(err)}
	}
	r.moveTo(backend, note, state, program)
	r.dropKept()
	return true, r.prepareComparer(ctx)
}

// memory returns what is held on a device with memory of its own, given the memory of the plan and the variables.
func (d *Device) memory(planned *profiles.Memory) profiles.DeviceMemory {
	holder, ok := d.Backend.(workload.DeviceHolder)
	if !ok {
		return profiles.DeviceMemory{}
	}
	m, parts := holder.DeviceMemory(), &planned.Parts
	if m.Weights > 0 { // the backend knows the division
		return m
	}
	m.Weights, m.Gradients, m.Moments = parts[MemoryWeights], parts[MemoryGradients], parts[MemoryMoments]
	m.Activations, m.Inputs, m.Workspace = parts[MemoryActivations], parts[MemoryInputs], parts[MemoryScratch]
	return m
}

// kept is the newest state that is known to be good, of a reconstruction whose device can fail.
type kept struct {
	has      bool
	at       time.Time
	took     time.Duration
	since    int64 // iterations since
	position position
	arrays   []checkpoint.Array
	spare    []checkpoint.Array // the copy before, whose memory the next one uses
}

// due reports whether the state is to be copied before an iteration of a sample.
func (k *kept) due(inSample int) bool {
	past := time.Since(k.at)
	return !k.has || past >= keepingShare*k.took && (inSample == 0 || past >= keepWithin)
}

// bytes returns the memory of the copies.
func (k *kept) bytes() (sum int64) {
	for _, arrays := range [][]checkpoint.Array{k.arrays, k.spare} {
		for i := range arrays {
			sum += 4 * int64(len(arrays[i].Float32))
		}
	}
	return sum
}

// keepingShare bounds what keeping costs: the time between two copies is at least keepingShare times that of a copy.
const keepingShare = 100

// keepWithin is the time between two copies within a sample, unless keepingShare requires more.
const keepWithin = 2 * time.Second

// keepState copies the state at the start of a sample, and every few seconds, from a device that can fail. An iteration
// that does is not compared with others.
func (r *Reconstruction) keepState(ctx context.Context, rec *profiles.Iteration) error {
	if !r.device.beside() {
		return nil
	}
	k := &r.kept
	if r.marked != nil && k.has {
		return nil
	}
	if !k.due(r.inSample) {
		return nil
	}
	rec.Flags |= profiles.Warmup
	return r.keepNow(ctx)
}

// keepNow copies the state.
func (r *Reconstruction) keepNow(ctx context.Context) error {
	start, k := time.Now(), &r.kept
	p, arrays, err := r.copyState(ctx, k.spare)
	if err != nil {
		return err
	}
	*k = kept{has: true, at: time.Now(), position: p, arrays: arrays, spare: k.arrays}
	k.took = k.at.Sub(start)
	return nil
}

// dropKept frees the copies of the state, unless the device can fail or a mark depends on them.
func (r *Reconstruction) dropKept() {
	if !r.device.beside() && r.marked == nil {
		r.kept = kept{}
	}
}

// Fallback returns the settings that must change for the reconstruction to continue on the processor.
func (r *Reconstruction) Fallback(err error, v settings.Values) (sets []settings.Assignment, ok bool) {
	if !r.device.beside() || !r.kept.has || errors.Is(err, ErrDiverged) {
		return nil, false
	}
	sets = []settings.Assignment{{Key: settings.Device, Value: "cpu"}}
	if v.Text("amp") == "tf32" {
		sets = append(sets, settings.Assignment{Key: "amp", Value: "off"})
	}
	return sets, true
}

// Recover continues from the kept state on the processor.
func (r *Reconstruction) Recover(ctx context.Context, v settings.Values) (from workload.Recovered, err error) {
	s, k := From(v), r.kept
	state, err := newState(ctx, r.decoder, r.device.Processor)
	if err != nil {
		return from, err
	}
	r.retreat(state)
	r.kept = kept{}
	r.adopt(&s)
	arrays := map[string]checkpoint.Array{}
	for _, a := range k.arrays {
		arrays[a.Name] = a
	}
	if err := r.restore(ctx, &k.position, arrays); err != nil {
		return from, err
	}
	r.done, r.failed, r.marked = false, false, nil
	from = workload.Recovered{Lost: k.since, Unit: int32(max(0, r.sample))}
	return from, r.load(ctx)
}
