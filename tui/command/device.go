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

// probe queries the CUDA driver, which may take seconds to answer.
func probe(ctx context.Context) (machine.GPU, error) {
	return await.Result(ctx, func() (machine.GPU, error) { return gpu.Probe(), nil })
}

// devices returns the devices that workloads can use: the processor, and a GPU if this program
// had a backend for it.
func devices(found machine.GPU) workloads.Devices {
	return workloads.Devices{GPUReason: found.Reason}
}

// onDevice returns the maker of the settings' workload on the device they name, or an error if
// that device is missing. It only looks for a GPU if they ask for one.
func onDevice(ctx context.Context, v settings.Values) (workload.Maker, error) {
	if v.Text(settings.Device) != "cuda" {
		return workloads.Of(v).Maker(workloads.Devices{}), nil
	}
	device, err := probe(ctx)
	if err != nil {
		return nil, err
	}
	maker := workloads.Of(v).Maker(devices(device))
	return maker, maker.Check(v, settings.Device)
}

// ofPRISM is onDevice for benchmarks of PRISM's model only.
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
