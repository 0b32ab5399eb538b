package command

import (
	"context"

	"prismtop/gpu"
	"prismtop/profiles/await"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/sim/prism"
	"prismtop/sim/workloads"
)

// probe is what the CUDA driver says, which may take seconds to answer.
func probe(ctx context.Context) (machine.GPU, error) {
	return await.Result(ctx, func() (machine.GPU, error) { return gpu.Probe(), nil })
}

// onDevice makes reconstructions on the device of the settings, and refuses one that is not
// there. The GPU is looked for only where they ask for one.
func onDevice(ctx context.Context, s *preset.Settings) (prism.Maker, error) {
	if s.Device != "cuda" {
		return workloads.PRISM(""), nil
	}
	device, err := probe(ctx)
	if err != nil {
		return prism.Maker{}, err
	}
	maker := workloads.PRISM(device.Reason)
	return maker, maker.Check(s, "device")
}
