package command

import (
	"context"
	"fmt"

	"prismtop/gpu"
	"prismtop/profiles/await"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/sim/cpu/features"
	"prismtop/sim/cpu/roof"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
	"prismtop/tui/doctor"
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

// roofsOf returns the machine's roofs, from the user's cache directory or measured now. An error
// returned with roofs explains why they were not stored.
func roofsOf(ctx context.Context, processor machine.CPU, kernels string, threads int, force bool) (*roof.Roofs, error) {
	set, err := vec.Choose(kernels)
	if err != nil {
		return nil, err
	}
	store, storeErr := roof.UserStore()
	roofs, err := store.Of(ctx, roofKey(processor, kernels, threads), roof.Options{Set: set, Threads: threads}, force)
	if err == nil {
		err = storeErr
	}
	return roofs, err
}

// judgeRoofs returns a judge of layers by the stored roofs of this machine; nil if there are
// none.
func judgeRoofs(kernels string, threads int) workload.Judge {
	return workloads.Judge(keptRoofs(kernels, threads))
}

// keptRoofs returns the stored roofs of this machine, or nil.
func keptRoofs(kernels string, threads int) *roof.Roofs {
	store, err := roof.UserStore()
	if err != nil {
		return nil
	}
	return store.Load(context.Background(), roofKey(features.Detect(), kernels, threads))
}

func roofKey(processor machine.CPU, kernels string, threads int) roof.Key {
	if set, err := vec.Choose(kernels); err == nil {
		kernels = set.String() // AMX uses the roofs of the float32 kernels that accompany it
	}
	return roof.Key{CPU: processor.Model, Logical: processor.Logical, Version: version, Kernels: kernels, Threads: threads}
}

// doctorRoofs converts the roofs for the doctor, with a note on how they were measured.
func doctorRoofs(r *roof.Roofs, note string) doctor.Roofs {
	to := doctor.Roofs{GFLOPS: r.GFLOPS, Measured: r.Measured, Note: note}
	for _, l := range r.Levels {
		to.Levels = append(to.Levels, doctor.Level(l))
	}
	return to
}
