package prism

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/sim/nn"
	"prismtop/sim/picture"
	"prismtop/sim/workload"
)

// Maker makes reconstructions: it implements the workload "prism".
type Maker struct {
	// Open opens the device of the settings. Closing its backend ends its threads.
	Open func(s *Settings) (Device, error)

	// Kernels returns an error if this machine does not have the kernels.
	Kernels func(name string) error

	// GPUReason returns the reason why the GPU of a value of the setting device cannot be used, empty if Open opens it.
	// It may wait for the driver.
	GPUReason func(device string) string
}

// Load draws or reads the picture named by the settings.
func (m Maker) Load(ctx context.Context, v settings.Values) (workload.Inputs, error) {
	s := From(v)
	if s.Measured != "" {
		measured, object, err := loadMeasured(ctx, &s)
		if err != nil {
			return nil, err
		}
		return Inputs{object, measured}, nil
	}
	object, err := LoadObject(ctx, &s)
	if err != nil {
		return nil, err
	}
	return Inputs{Object: object}, nil
}

// Inputs is the picture to reconstruct.
type Inputs struct {
	Object   *picture.Object
	Measured *Measured // nil if the telescope is simulated
}

// Name returns the picture's name.
func (in Inputs) Name() string { return in.Object.Name }

// LoadObject draws or loads the picture named by the settings.
func LoadObject(ctx context.Context, s *Settings) (*picture.Object, error) {
	o := picture.Options{ObjectSize: s.ObjectSize, Size: s.Size, Invert: s.Invert}
	if s.Image != "" {
		object, err := picture.Load(ctx, s.Image, o)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: must be the path of a picture", err)
		}
		if err != nil && ctx.Err() == nil {
			err = &settings.KeyError{Key: "image", Err: err}
		}
		return object, err
	}
	return picture.Builtin(ctx, s.Object, o)
}

// SameInputs reports whether two settings load the same picture at the same sizes.
func (m Maker) SameInputs(a, b settings.Values) bool {
	s, t := From(a), From(b)
	if s.Measured != t.Measured || s.Measured != "" && s.Samples != t.Samples {
		return false
	}
	return s.Object == t.Object && s.Image == t.Image && s.Invert == t.Invert && s.Size == t.Size &&
		s.ObjectSize == t.ObjectSize
}

// Reads reports whether the picture is a file.
func (m Maker) Reads(v settings.Values) bool {
	return v.Text("image") != "" || v.Text(measuredKey) != ""
}

// Check returns an error if this machine or this build does not have the device or
// the kernels.
func (m Maker) Check(v settings.Values, key string) error {
	switch key {
	case settings.Device:
		if err := workload.CheckDevice(v, m.GPUReason); err != nil {
			return err
		}
		return m.checkAMP(v)
	case "amp":
		return m.checkAMP(v)
	case "kernels":
		return m.Kernels(v.Text(key))
	}
	return nil
}

// checkAMP returns an error about a mode of mixed precision that the device does not have.
func (m Maker) checkAMP(v settings.Values) error {
	if v.Text("amp") != "tf32" {
		return nil
	}
	if !m.onProcessor(v.Text(settings.Device)) {
		return nil
	}
	return &settings.KeyError{Key: "amp", Err: &workload.LackingError{
		Err: errors.New("amp = tf32: only a GPU multiplies in TF32: must be off, bf16, bf16x3 or fp16 on the CPU"),
	}}
}

// onProcessor reports whether a value of the setting device opens the processor.
func (m Maker) onProcessor(device string) bool {
	return device == "cpu" || device == "auto" && (m.GPUReason == nil || m.GPUReason(device) != "")
}

// FitsBeside reports whether a reconstruction fits into memory in addition to the
// given number of bytes.
func (m Maker) FitsBeside(v settings.Values, held int64) bool {
	s := From(v)
	return s.FitsBeside(held)
}

// New prepares a reconstruction on its own device, which Close closes too. Where the setting device is auto and the GPU
// fails, it is on the processor, with a note.
func (m Maker) New(ctx context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	s := From(v)
	device, err := m.Open(&s)
	if err != nil {
		return nil, err
	}
	inputs := in.(Inputs)
	r, err := newReconstruction(ctx, s, inputs, device)
	var failed *deviceError
	if err != nil && device.beside() && ctx.Err() == nil && (errors.As(err, &failed) || nn.Lost(err)) {
		if s.Device != "auto" {
			device.Close()
			if nn.Short(err) {
				err = fmt.Errorf("%w; device = cpu uses no GPU memory", advised(err))
			}
			return nil, &settings.KeyError{Key: settings.Device,
				Err: &workload.LackingError{Err: fmt.Errorf("device = %s: %w", s.Device, err)}}
		}
		device.leave()
		device.Backend, device.Note = device.Processor, advised(err).Error()
		r, err = newReconstruction(ctx, s, inputs, device)
	}
	if err != nil {
		device.Close()
		return nil, err
	}
	r.owned = true
	return r, nil
}

// deviceError is an error of a backend: too little memory, a missing kernel, a driver's or a device's failure.
type deviceError struct{ error }

func (e *deviceError) Unwrap() error { return e.error }

// threads returns the effective number of threads: 0 means one per processor.
func threads(setting int) int {
	if setting == 0 {
		return machine.Processors()
	}
	return setting
}

// Save writes the reconstruction on the object's window, see finalOutput, to base.png
// (16 bit) and base.npy, or, with an error, to base.npy alone if it is not finite. SavedQuality is that of it.
func (r *Reconstruction) Save(ctx context.Context, base string, fresh bool) ([]string, error) {
	if !r.Reconstructed() {
		return nil, errors.New("nothing was reconstructed yet")
	}
	output, err := r.finalOutput(ctx)
	if err != nil {
		return nil, err
	}
	if r.saved, err = r.QualityOf(ctx, output); err != nil {
		return nil, err
	}
	save, p := picture.SavePair, r.settings.crop(PictureReconstruction, output)
	if fresh {
		save = picture.SaveNewPair
	}
	return save(ctx, base, p.Pixels, p.Width, p.Height)
}

// layersOf returns the steps of a loaded plan in the form used by records.
func layersOf(plan *nn.Plan, exe nn.Executable) []profiles.Layer {
	all := make([]profiles.Layer, len(plan.Steps))
	for i := range plan.Steps {
		s := &plan.Steps[i]
		all[i] = profiles.Layer{Name: s.Name, Phase: RecordedPhase(s.Phase), FLOPs: s.FLOPs, Bytes: s.Bytes}
	}
	if x, ok := exe.(nn.Explainer); ok {
		for i, kernel := range x.Kernels() {
			all[i].Kernel = kernel
		}
	}
	return all
}
