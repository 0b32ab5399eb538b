package learning

import (
	"context"
	"errors"
	"fmt"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/nn"
	"prismtop/sim/workload"
)

// Machine says what a machine has.
type Machine struct {
	// Kernels returns an error if it does not have the kernels.
	Kernels func(name string) error

	// GPUReason returns the reason why the GPU of a value of the setting device cannot be used, empty if it can. It may
	// wait for the driver.
	GPUReason func(device string) string
}

// Check returns an error if the machine does not have the device or the kernels.
func (m Machine) Check(v settings.Values, key string) error {
	switch key {
	case settings.Device:
		return workload.CheckDevice(v, m.GPUReason)
	case "kernels":
		return m.Kernels(v.Text(key))
	}
	return nil
}

// Device is where the network of a task is computed: the processor, or a GPU beside it.
type Device struct {
	// Backend computes the plans.
	Backend nn.Backend

	// Processor is the backend of the processor; nil if Backend is the only one.
	Processor nn.Backend

	// Open returns the backend of a value of the setting device: Processor, or one that it opens on a GPU. note says
	// why it is not the one that the value prefers; empty if it is. Open is nil if Backend is the only one.
	Open func(device string) (backend nn.Backend, note string, err error)

	// Resolve returns the device that a value of the setting stands for: "cpu", "cuda:0". It may wait for the driver.
	Resolve func(device string) string

	// Note is that of Open for Backend.
	Note string
}

// Start returns the device of a value of the setting, with the processor's backend, which it closes after an error.
func Start(processor nn.Backend, device string, open func(string) (nn.Backend, string, error),
	resolve func(string) string) (d Device, err error) {
	d = Device{Processor: processor, Open: open, Resolve: resolve}
	if d.Backend, d.Note, err = open(device); err != nil {
		processor.Close()
		return Device{}, lacking(device, err)
	}
	return d, nil
}

// lacking is the error of a device that settings ask for.
func lacking(device string, err error) error {
	return &settings.KeyError{Key: settings.Device,
		Err: &workload.LackingError{Err: fmt.Errorf("device = %s: %w", device, err)}}
}

// Close closes the backends.
func (d *Device) Close() {
	d.leave()
	if d.Processor != nil {
		d.Processor.Close()
	} else if d.Backend != nil {
		d.Backend.Close()
	}
}

// leave closes the backend unless it is the processor's.
func (d *Device) leave() {
	if d.Beside() {
		d.Backend.Close()
	}
}

// Beside reports whether the plans are computed beside the processor.
func (d *Device) Beside() bool { return d.Processor != nil && d.Backend != d.Processor }

// SetThreads sets the number of the host's threads.
func (d *Device) SetThreads(n int) {
	d.Backend.SetThreads(n)
	if d.Beside() {
		d.Processor.SetThreads(n)
	}
}

// Failure returns the error that the backend could not return; nil for none.
func (d *Device) Failure() error { return failureOf(d.Backend) }

func failureOf(b nn.Backend) error {
	if f, ok := b.(nn.Fallible); ok {
		return f.Failure()
	}
	return nil
}

// Remarks returns what a user should know of the device in use.
func (d *Device) Remarks() []string {
	var all []string
	if d.Note != "" {
		all = append(all, "computed on the CPU: "+d.Note)
	}
	if f, ok := d.Backend.(nn.Fallible); ok {
		all = append(all, f.Remarks()...)
	}
	return all
}

// Elsewhere opens the backend of a new value of the setting; nil if the work is there already.
func (d *Device) Elsewhere(now, next string) (backend nn.Backend, note string, err error) {
	if next == now || d.Open == nil || d.Resolve(next) == d.Resolve(now) && d.Note == "" {
		return nil, "", nil
	}
	backend, note, err = d.Open(next)
	if err != nil {
		return nil, "", &workload.RefusedError{Err: err}
	}
	if backend == d.Backend {
		d.Note = note
		return nil, "", nil
	}
	return backend, note, nil
}

// Refuse closes a backend of Elsewhere that cannot be used, and returns the error of a change that was refused, or that
// of ctx or of the device in use.
func (d *Device) Refuse(ctx context.Context, backend nn.Backend, err error) error {
	if backend != d.Processor {
		backend.Close()
	}
	if ctx.Err() != nil {
		return err
	}
	if failed := d.Failure(); failed != nil {
		return failed
	}
	return &workload.RefusedError{Err: Advised(err)}
}

// Use goes on with a backend of Elsewhere, and closes the one before unless it is the processor's.
func (d *Device) Use(backend nn.Backend, note string) {
	d.leave()
	d.Backend, d.Note = backend, note
}

// Advised adds to an error about a device's memory what would need less.
func Advised(err error) error {
	if !nn.Short(err) {
		return err
	}
	return fmt.Errorf("%w; a smaller batch needs less", err)
}

// Begin makes a task on a device that a value of the setting stands for. Where that is auto and the GPU fails, the task
// is on the processor, with a note. begin is called again then. After an error the device is closed.
func Begin[T any](ctx context.Context, d *Device, device string, begin func() (T, error)) (T, error) {
	task, err := begin()
	if err != nil && d.Beside() && ctx.Err() == nil {
		if device == "auto" {
			d.leave()
			d.Backend, d.Note = d.Processor, Advised(err).Error()
			task, err = begin()
		} else if nn.Short(err) || nn.Lost(err) {
			err = lacking(device, Advised(err))
		}
	}
	if err != nil {
		d.Close()
	}
	return task, err
}

// CopyTo copies the variables, but the gradients, to a state of the same on another backend.
func (v Variables) CopyTo(ctx context.Context, from, to nn.Backend, state nn.State) error {
	var values []float32
	for i, of := range v.Model.Variables() {
		if of.Category == nn.Gradients {
			continue
		}
		n := of.Shape.Elements()
		if len(values) < n {
			values = make([]float32, n)
		}
		v.State.Read(i, values[:n])
		if err := failureOf(from); err != nil {
			return err
		}
		state.Write(i, values[:n])
		if err := errors.Join(failureOf(to), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// On a device that computes beside the host, one iteration in detailEvery times every step, which takes longer than
// another; the first is detailFirst.
const (
	detailEvery = 50
	detailFirst = 10
)

// Detailed reports whether the iteration of a number from 0 on times every step.
func Detailed(iteration int64) bool { return iteration%detailEvery == detailFirst }

// Memory returns what is held on a device with memory of its own, divided as planned where its backend does not know
// the division; nothing on the processor.
func (d *Device) Memory(planned profiles.DeviceMemory) profiles.DeviceMemory {
	holder, ok := d.Backend.(workload.DeviceHolder)
	if !ok {
		return profiles.DeviceMemory{}
	}
	m := holder.DeviceMemory()
	if m.Weights == 0 {
		m.Weights, m.Gradients, m.Moments = planned.Weights, planned.Gradients, planned.Moments
		m.Activations, m.Inputs, m.Workspace = planned.Activations, planned.Inputs, planned.Workspace
	}
	return m
}
