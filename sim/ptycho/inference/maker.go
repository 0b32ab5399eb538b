// Package inference is PtychoPINN's inference as a workload: batches of a simulated scan go
// through the network, and the objects of its groups are assembled on a canvas, pass after pass
// (spec/ptycho-cyto.md §A2). An iteration is a batch. The batch size may change between any two;
// the objects do not depend on it, which every pass after the first checks.
package inference

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
	"prismtop/sim/weights"
	"prismtop/sim/workload"
)

// Maker makes inferences: it implements the workload "ptycho".
type Maker struct {
	learning.Machine

	// Open opens the device of the settings.
	Open func(v settings.Values) (learning.Device, error)

	// Trained returns the path of the file that training leaves for a network; nil for seeded weights.
	Trained func(ptycho.Config) (string, error)
}

// Inputs is a scan.
type Inputs struct{ Scan *scan.Scan }

// Name returns what files of the result are named after.
func (Inputs) Name() string { return "ptycho" }

// Load reads or simulates the scan of the settings.
func (m Maker) Load(ctx context.Context, v settings.Values) (workload.Inputs, error) {
	if path := v.Text("data"); path != "" {
		s, err := scan.Chosen(ctx, path, dataOptions(v), v.Int("size"), v.Int("positions"), seed(v))
		if err != nil {
			if ctx.Err() == nil {
				err = &settings.KeyError{Key: "data", Err: err}
			}
			return nil, err
		}
		return Inputs{s}, nil
	}
	host, err := v.Set(settings.Device, "cpu") // so that all devices get the same scan
	if err != nil {
		return nil, err
	}
	device, err := m.Open(host)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	s, err := scan.Simulate(ctx, scanOptions(v), device.Backend)
	if err != nil {
		return nil, err
	}
	return Inputs{s}, nil
}

// SameInputs reports whether two settings have the same scan.
func (Maker) SameInputs(a, b settings.Values) bool {
	return scanOptions(a) == scanOptions(b) && a.Text("data") == b.Text("data") && dataOptions(a) == dataOptions(b)
}

// Reads reports whether the scan is a file.
func (Maker) Reads(v settings.Values) bool { return v.Text("data") != "" }

// Check returns an error if this machine does not have the device or the kernels, or if a
// batch needs more memory than the limit.
func (m Maker) Check(v settings.Values, key string) error {
	switch key {
	case settings.Device:
		if err := m.Machine.Check(v, key); err != nil {
			return err
		}
		return m.withinLimit(v, settings.BatchSize)
	case settings.BatchSize, settings.MemoryLimit, "amp":
		return m.withinLimit(v, key)
	}
	return m.Machine.Check(v, key)
}

// withinLimit returns an error that names a key if a batch needs more memory than the limit.
func (m Maker) withinLimit(v settings.Values, key string) error {
	if limit(v) == 0 || v.Validate() != nil {
		return nil
	}
	large := m.onGPU(v)
	need, err := Footprint(context.Background(), v, large)
	if err != nil || need <= limit(v) {
		return err
	}
	want := fmt.Sprintf("a batch of %d needs %s, more than %s = %d allows: %s", v.Int(settings.BatchSize),
		unit.Size(need), settings.MemoryLimit, v.Int(settings.MemoryLimit), fitting(v, large))
	return &settings.KeyError{Key: key, Err: fmt.Errorf("%s = %s: %s", key, v.Get(key), want)}
}

// onGPU reports whether a GPU computes a run of the settings, whose batches are not divided.
func (m Maker) onGPU(v settings.Values) bool {
	device := v.Text(settings.Device)
	return device != "cpu" && m.GPUReason != nil && m.GPUReason(device) == ""
}

// fitting says which batch size fits in the memory limit, or that none does.
func fitting(v settings.Values, large bool) string {
	need := func(batch int) (int64, bool) {
		w, err := v.With(settings.Assignment{Key: settings.BatchSize, Value: strconv.Itoa(batch)})
		if err != nil {
			return 0, false
		}
		bytes, err := Footprint(context.Background(), w, large)
		return bytes, err == nil
	}
	least, ok := need(1)
	if !ok || least > limit(v) {
		return fmt.Sprintf("even 1 needs %s, so that the limit must be larger", unit.Size(least))
	}
	low, high := 1, v.Int(settings.BatchSize) // the first fits, the second does not
	for high-low > 1 {
		if bytes, ok := need((low + high) / 2); ok && bytes <= limit(v) {
			low = (low + high) / 2
		} else {
			high = (low + high) / 2
		}
	}
	return fmt.Sprintf("%s must be at most %d", settings.BatchSize, low)
}

// Footprint is the memory of a run under the settings: weights, scan, results and the plan of the
// batch size, large for a GPU. The kernels' scratch, and Winograd's transformed weights in
// it, are only known once a plan is loaded.
func Footprint(ctx context.Context, v settings.Values, large bool) (int64, error) {
	network, err := ptycho.New(config(v))
	if err != nil {
		return 0, err
	}
	o := planOptions(v)
	o.Large = large
	plan, err := network.BatchPlan(ctx, o)
	if err != nil {
		return 0, err
	}
	return plan.Variables(network)[nn.Weights] + scanBytes(v) + resultBytes(v) + plan.Usage().Total(), nil
}

// FitsBeside reports whether an inference fits into memory in addition to the given number of
// bytes held now. If the machine's memory is unknown it reports true.
func (Maker) FitsBeside(v settings.Values, held int64) bool {
	left, known := machine.ReadMemory().Beside(held)
	need, err := Footprint(context.Background(), v, false)
	need = max(need, scanOptions(v).DrawingBytes())
	return !known || err == nil && need <= left
}

// Most returns the batches of all passes, at the batch size of the settings: one that reaches the end of a pass
// continues with the next.
func (m Maker) Most(v settings.Values) (iterations int64, sooner bool) {
	passes := workload.UnitsWithin(v, int64(v.Int("passes")), "passes")
	objects := float64(passes) * float64(groupCount(v))
	return workload.IterationsWithin(v, math.Ceil(objects/float64(v.Int(settings.BatchSize)))), false
}

// New prepares an inference on its own device, which Close closes too.
func (m Maker) New(ctx context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	if err := m.withinLimit(v, settings.BatchSize); err != nil {
		return nil, err
	}
	device, err := m.Open(v)
	if err != nil {
		return nil, err
	}
	return learning.Begin(ctx, &device, v.Text(settings.Device), func() (workload.Task, error) {
		t := &Task{v: v, scan: in.(Inputs).Scan, device: device}
		if err := t.prepare(ctx, m.Trained); err != nil {
			t.free()
			return nil, err
		}
		return t, nil
	})
}

// WithoutWeights returns a maker whose tasks do not read trained weights.
func (m Maker) WithoutWeights() workload.Maker {
	m.Trained = nil
	return m
}

// firstSeed is the seed of the weights of a network that was not trained (§A1.8).
const firstSeed = 12345

// firstWeights returns the weights of the settings, and notes where they come from.
func (t *Task) firstWeights(ctx context.Context, trained func(ptycho.Config) (string, error)) ([]weights.Tensor,
	error) {
	t.caveat = profiles.Caution{Text: "seeded weights: no reconstruction", Remedy: trainingOf(t.network.Config()) +
		" trains them"}
	if trained == nil || t.v.Text("weights") == "seeded" {
		t.of = "seeded weights"
		return t.network.Seeded(firstSeed), nil
	}
	path, err := trained(t.network.Config())
	if err != nil {
		return nil, err
	}
	read, _, err := t.network.ReadWeights(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.of = "seeded weights: the network is not trained, and what it draws is no object; " + t.caveat.Remedy
		return t.network.Seeded(firstSeed), nil
	case err != nil:
		return nil, fmt.Errorf("trained weights: %w; weights = seeded goes without them", err)
	}
	t.of, t.caveat = "trained weights of "+path, profiles.Caution{}
	return read, nil
}

// trainingOf returns the command that trains a network.
func trainingOf(c ptycho.Config) string {
	command, object := "prismtop ptycho train", 160
	if 2*c.Size > object {
		object = 5 * c.Size / 2
	}
	for _, s := range []struct {
		key          string
		value, usual int
	}{{"size", c.Size, 64}, {"object_size", object, 160}, {"gridsize", c.GridSize, 1},
		{"filters_scale", c.FiltersScale, 2}} {
		if s.value != s.usual {
			command += fmt.Sprintf(" --set %s=%d", s.key, s.value)
		}
	}
	if a := c.AmpActivation; a != "" && a != ptycho.AmpActivations()[0] {
		command += " --set amp_activation=" + a
	}
	if h := c.Heads; h != "" && h != ptycho.HeadKinds()[0] {
		command += " --set heads=" + h
	}
	return command
}

// StartFrom replaces the weights by those of a file.
func (t *Task) StartFrom(ctx context.Context, path string) (said []string, err error) {
	read, said, err := t.network.ReadWeights(ctx, path)
	if err != nil {
		return nil, err
	}
	t.of, t.caveat = "", profiles.Caution{}
	return said, t.setWeights(read)
}
