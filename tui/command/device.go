package command

import (
	"context"
	"fmt"

	"prismtop/gpu"
	"prismtop/profiles/await"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// probe is what the CUDA driver says, which may take seconds to answer.
func probe(ctx context.Context) (machine.GPU, error) {
	return await.Result(ctx, func() (machine.GPU, error) { return gpu.Probe(), nil })
}

// onDevice is a maker of the settings' workload on the device that they name, and refuses one
// that is not there. The GPU is looked for only where they ask for one.
func onDevice(ctx context.Context, v settings.Values) (workload.Maker, error) {
	if v.Text(settings.Device) != "cuda" {
		return workloads.Maker(v, ""), nil
	}
	device, err := probe(ctx)
	if err != nil {
		return nil, err
	}
	maker := workloads.Maker(v, device.Reason)
	return maker, maker.Check(v, settings.Device)
}

// ofPRISM is onDevice for what measures PRISM's model alone.
func ofPRISM(ctx context.Context, v settings.Values) (prism.Maker, prism.Settings, error) {
	if name := v.Table().Workload; v.Table() != prism.Table {
		return prism.Maker{}, prism.Settings{}, fmt.Errorf("the preset is of the workload %s: must be one of %s", name, prism.Table.Workload)
	}
	maker, err := onDevice(ctx, v)
	if err != nil {
		return prism.Maker{}, prism.Settings{}, err
	}
	return maker.(prism.Maker), prism.From(v), nil
}
