package command

import (
	"context"
	"fmt"
	"strings"

	"prismtop/gpu"
	"prismtop/gpu/check"
	"prismtop/gpu/cuda"
	"prismtop/gpu/driver"
	"prismtop/profiles/machine"
	"prismtop/sim/nn"
	"prismtop/sim/verify/against"
	"prismtop/tui/command/cli"
	"prismtop/tui/doctor"
)

// gpuSizes are the sizes that doctor --gpu compares: one for odd shapes of grids, and PRISM's.
var gpuSizes = [][2]int{{64, 32}, {512, 128}}

// gpuCells are the patches of CytoDL's network that doctor --gpu compares, those of its presets.
var gpuCells = [][3]int{{16, 32, 32}, {1, 64, 64}}

// gpuIterations is the number of iterations of each training that doctor --gpu compares.
const gpuIterations = 10

// gpuCheck is a check of a GPU.
type gpuCheck struct {
	driver     func() (driver.Driver, error)
	found      machine.GPU
	device     string     // as the setting names it
	reference  nn.Backend // of the processor
	sizes      [][2]int
	networks   bool // those of the other workloads, too
	iterations int
	scale      int // divides the work of measurements; 0 is 1
	progress   func(what string)
}

// run measures the GPU and compares it with the processor. What is wrong is in the result; the error is an
// interruption, or one of the processor.
func (c *gpuCheck) run(ctx context.Context) (*doctor.GPUCheck, error) {
	r := &doctor.GPUCheck{Modules: []doctor.GPUModule{}, Roofs: []doctor.GPURoof{}, Operators: []doctor.GPUCompare{},
		Trainings: []doctor.GPUCompare{}}
	if c.progress == nil {
		c.progress = func(string) {}
	}
	ordinal, reason := gpu.Ordinal(c.found, c.device)
	if reason != "" {
		r.Reason = reason
		return r, nil
	}
	device := c.found.Devices[ordinal]
	r.Device, r.Capability = device.Name, device.Capability
	d, err := c.driver()
	if err == nil {
		err = c.measure(ctx, r, d, ordinal)
	}
	if ctx.Err() != nil {
		return nil, cli.ErrInterrupted
	}
	if err != nil {
		r.NotMeasured = err.Error()
		r.Reason = "not measured: " + r.NotMeasured
	}
	if d == nil {
		return r, nil
	}
	if err := c.compare(ctx, r, d, ordinal); err != nil {
		return nil, err
	}
	if r.Reason == "" {
		r.Reason = wrong(r)
	}
	r.OK = r.Reason == ""
	return r, nil
}

// measure measures the device.
func (c *gpuCheck) measure(ctx context.Context, r *doctor.GPUCheck, d driver.Driver, ordinal int) error {
	m, err := check.Run(ctx, d, check.Options{Ordinal: ordinal, Scale: c.scale, Progress: c.progress})
	if err != nil {
		return err
	}
	r.Kernels, r.Multi, r.Context, r.EagerLaunch, r.GraphLaunch = m.Set, m.Multi, m.Context, m.Launch.Eager,
		m.Launch.Graph
	r.TotalBytes, r.FreeBytes, r.L2Bytes = m.Memory.Total, m.Memory.Free, m.Memory.L2
	for _, module := range m.Modules {
		r.Modules = append(r.Modules, doctor.GPUModule(module))
	}
	for _, roof := range m.Roofs {
		r.Roofs = append(r.Roofs, doctor.GPURoof(roof))
	}
	return nil
}

// compare compares the device with the processor.
func (c *gpuCheck) compare(ctx context.Context, r *doctor.GPUCheck, d driver.Driver, ordinal int) error {
	b, err := cuda.Open(d, cuda.Options{Ordinal: ordinal})
	if err != nil {
		r.NotCompared = err.Error()
		r.Reason = "not compared: " + r.NotCompared
		return nil
	}
	defer b.Close()
	r.Kernels, r.ComparedWith = b.Kernels(), c.reference.Name()
	o := against.Options{Sizes: c.sizes, Iterations: c.iterations, Progress: c.progress}
	if c.networks {
		o.Ptychography, o.Cells = true, gpuCells
	}
	report, err := against.Compare(ctx, b, c.reference, o)
	switch {
	case ctx.Err() != nil:
		return cli.ErrInterrupted
	case nn.Lost(err):
		r.NotCompared = err.Error()
		r.Reason = err.Error()
	case err != nil:
		return err
	}
	for _, o := range report.Operators {
		r.Operators = append(r.Operators, doctor.GPUCompare{Name: o.Name, Mode: o.Mode, Count: o.Steps, Worst: o.Worst,
			Limit: o.Limit, At: o.At, OK: o.OK, Error: o.Error})
	}
	for _, t := range report.Trainings {
		compared := doctor.GPUCompare{Name: fmt.Sprintf("%d/%d", t.Size[0], t.Size[1]), Mode: t.Mode,
			Count: t.Iterations, Worst: t.Worst, Limit: t.Limit, OK: t.OK, Error: t.Error}
		if t.Error == "" && !t.Repeats {
			compared.Error = "a second training had other losses"
		}
		r.Trainings = append(r.Trainings, compared)
	}
	r.Remarks = unique(b.Remarks())
	return nil
}

// unique returns lines without repetitions: every plan repeats the same remark.
func unique(lines []string) (list []string) {
	seen := map[string]bool{}
	for _, line := range lines {
		if !seen[line] {
			seen[line] = true
			list = append(list, line)
		}
	}
	return list
}

// wrong says what differs from the processor's results; empty for nothing.
func wrong(r *doctor.GPUCheck) string {
	var names []string
	for _, list := range [][]doctor.GPUCompare{r.Operators, r.Trainings} {
		for _, c := range list {
			if !c.OK {
				names = append(names, c.Name+" ("+c.Mode+")")
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "differs from the processor in " + strings.Join(names, ", ")
}
