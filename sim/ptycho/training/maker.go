package training

import (
	"context"
	"path/filepath"

	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/sim/checkpoint"
	"prismtop/sim/learning"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
	"prismtop/sim/weights"
	"prismtop/sim/workload"
)

// Maker makes trainings: it implements the workload "ptycho-training".
type Maker struct {
	learning.Machine

	// Open opens the device of the settings. Closing its backend ends its threads.
	Open func(s *Settings) (Device, error)

	// Leave returns the file in which a complete training leaves its weights; nil for
	// none.
	Leave func(ptycho.Config) (string, error)
}

// object is the name of the object: of the file, or of the simulated lines.
func (s *Settings) object() string {
	if s.Data != "" {
		return filepath.Base(s.Data)
	}
	return "lines"
}

// Inputs is a scan.
type Inputs struct {
	Scan *scan.Scan
	name string
}

// Name returns the object's name.
func (in Inputs) Name() string { return in.name }

// Load reads or simulates the scan of the settings.
func (m Maker) Load(ctx context.Context, v settings.Values) (workload.Inputs, error) {
	s := From(v)
	if s.Data != "" {
		measured, err := scan.Chosen(ctx, s.Data, s.data(), s.Size, s.Positions, s.Seed)
		if err != nil {
			if ctx.Err() == nil {
				err = &settings.KeyError{Key: "data", Err: err}
			}
			return nil, err
		}
		return Inputs{measured, s.object()}, nil
	}
	s.Device = "cpu" // so that all devices get the same scan
	device, err := m.Open(&s)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	simulated, err := scan.Simulate(ctx, s.scan(), device.Backend)
	if err != nil {
		return nil, err
	}
	return Inputs{simulated, s.object()}, nil
}

// SameInputs reports whether two settings have the same scan.
func (m Maker) SameInputs(a, b settings.Values) bool {
	s, t := From(a), From(b)
	return s.scan() == t.scan() && s.Data == t.Data && s.data() == t.data()
}

// Reads reports whether the scan is a file.
func (m Maker) Reads(v settings.Values) bool { return v.Text("data") != "" }

// FitsBeside reports whether a training fits into memory in addition to the given number
// of bytes.
func (m Maker) FitsBeside(v settings.Values, held int64) bool {
	s := From(v)
	left, known := machine.ReadMemory().Beside(held)
	return !known || s.leastMemory() <= float64(left)
}

// Most returns the minibatches of all epochs, and whether the test loss may end them sooner.
func (m Maker) Most(v settings.Values) (iterations int64, sooner bool) {
	s := From(v)
	epochs := workload.UnitsWithin(v, int64(s.Epochs), "epochs")
	return workload.IterationsWithin(v, float64(epochs)*float64(s.batches())), s.Patience > 0
}

// New prepares a training on its own device, which Close closes too.
func (m Maker) New(ctx context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	s := From(v)
	device, err := m.Open(&s)
	if err != nil {
		return nil, err
	}
	t, err := learning.Begin(ctx, &device.Device, s.Device, func() (*training, error) {
		return start(ctx, s, in.(Inputs).Scan, device)
	})
	if err != nil {
		return nil, err
	}
	t.leave = m.Leave
	return t, nil
}

// Weights returns the weights of a checkpoint by their names in files.
func (m Maker) Weights(v settings.Values, c *checkpoint.Checkpoint) ([]weights.Tensor, error) {
	s := From(v)
	network, err := ptycho.New(s.network())
	if err != nil {
		return nil, err
	}
	return learning.WeightsOf(c, network.StateDict())
}

// Names returns the names that other programs have for the arrays of Weights.
func (m Maker) Names(v settings.Values) ([]weights.Names, error) {
	s := From(v)
	network, err := ptycho.New(s.network())
	if err != nil {
		return nil, err
	}
	return network.Names(), nil
}
