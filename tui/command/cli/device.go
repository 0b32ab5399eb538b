package cli

import (
	"context"
	"errors"
	"fmt"

	"prismtop/gpu"
	"prismtop/gpu/monitor"
	"prismtop/profiles/await"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/sim/cpu/features"
	"prismtop/sim/cpu/roof"
	"prismtop/sim/cpu/vec/choice"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// GPU is the search for GPUs, which goes on beside its caller: the driver may take seconds to answer.
type GPU struct {
	found machine.GPU
	done  chan struct{}
}

// FindGPU starts the search. The end of ctx ends it, with no GPU found.
func FindGPU(ctx context.Context) *GPU {
	g := &GPU{done: make(chan struct{})}
	go func() {
		defer close(g.done)
		var err error
		if g.found, err = Probe(ctx); err != nil {
			g.found.Reason = "the search for a GPU was interrupted"
		}
	}()
	return g
}

// Found waits for the driver and returns what it says.
func (g *GPU) Found() machine.GPU {
	<-g.done
	return g.found
}

// Known returns what the driver says, if it has answered.
func (g *GPU) Known() (found machine.GPU, known bool) {
	select {
	case <-g.done:
		return g.found, true
	default:
		return found, false
	}
}

// Reason returns why no GPU can compute a workload; empty if one can. It waits for the driver unless the reason is the
// workload's.
func (g *GPU) Reason(w workloads.Workload) string {
	if w.NoGPU != "" {
		return w.NoGPU
	}
	if found := g.Found(); !found.Usable {
		return found.Reason
	}
	return ""
}

// Devices returns the devices that workloads can use: the processor, and the GPUs that are found.
func (g *GPU) Devices() workloads.Devices { return devices(g.Found) }

// Devices returns the devices that workloads can use, given the GPUs that were found.
func Devices(found machine.GPU) workloads.Devices {
	return devices(func() machine.GPU { return found })
}

func devices(found func() machine.GPU) workloads.Devices {
	return workloads.Devices{
		GPUReason: func(device string) string {
			_, reason := gpu.Ordinal(found(), device)
			return reason
		},
		GPU: func(device string) (nn.Backend, error) {
			ordinal, reason := gpu.Ordinal(found(), device)
			if reason != "" {
				return nil, errors.New(reason)
			}
			return gpu.Open(ordinal)
		},
		Ordinal: func(device string) int {
			ordinal, _ := gpu.Ordinal(found(), device)
			return ordinal
		},
	}
}

// CardOf returns the GPU on which settings are computed; nil for the processor.
func CardOf(found machine.GPU, v settings.Values) *machine.GPUDevice {
	device := v.Text(settings.Device)
	if device == "cpu" || !v.Has(settings.Device) || workloads.Of(v).NoGPU != "" {
		return nil
	}
	ordinal, reason := gpu.Ordinal(found, device)
	if reason != "" || ordinal >= len(found.Devices) {
		return nil
	}
	return &found.Devices[ordinal]
}

// OpenGPU opens the backend of a GPU by its number in the driver's list.
func OpenGPU(ordinal int) (nn.Backend, error) { return gpu.Open(ordinal) }

// Probe queries the CUDA driver, which may take seconds to answer.
func Probe(ctx context.Context) (machine.GPU, error) {
	return await.Result(ctx, func() (machine.GPU, error) { return gpu.Probe(), nil })
}

// ReadSensors reads the sensors of the GPUs once, which may take seconds while the driver starts.
func ReadSensors(ctx context.Context) (machine.Sensors, error) {
	return await.Result(ctx, func() (machine.Sensors, error) { return monitor.Read(), nil })
}

// OnDevice returns the maker of the settings' workload on the device they name, or an error if
// that device is missing. It does not look for a GPU if they ask for the processor.
func OnDevice(ctx context.Context, v settings.Values) (workload.Maker, error) {
	w := workloads.Of(v)
	if v.Text(settings.Device) == "cpu" || w.NoGPU != "" {
		maker := w.Maker(workloads.NoGPU(w.NoGPU))
		return maker, maker.Check(v, settings.Device)
	}
	device, err := Probe(ctx)
	if err != nil {
		return nil, err
	}
	maker := w.Maker(Devices(device))
	return maker, maker.Check(v, settings.Device)
}

// OfPRISM is OnDevice for benchmarks of PRISM's model only.
func OfPRISM(ctx context.Context, v settings.Values) (prism.Maker, prism.Settings, error) {
	if name := v.Table().Workload; v.Table() != prism.Table {
		return prism.Maker{}, prism.Settings{}, fmt.Errorf("the preset is of the workload %s: must be one of %s", name,
			prism.Table.Workload)
	}
	maker, err := OnDevice(ctx, v)
	if err != nil {
		return prism.Maker{}, prism.Settings{}, err
	}
	return maker.(prism.Maker), prism.From(v), nil
}

// RoofsOf returns the machine's roofs, from the user's cache directory or measured now. An error
// returned with roofs explains why they were not stored.
func RoofsOf(ctx context.Context, processor machine.CPU, kernels string, threads int, force bool) (*roof.Roofs, error) {
	set, err := choice.Set(kernels)
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

// JudgeRoofs returns a judge of layers by the stored roofs of this machine; nil if there are
// none.
func JudgeRoofs(kernels string, threads int) workload.Judge {
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
	if set, err := choice.Set(kernels); err == nil {
		kernels = set.String() // AMX uses the roofs of the float32 kernels that accompany it
	}
	return roof.Key{CPU: processor.Model, Logical: processor.Logical, Version: Version, Kernels: kernels,
		Threads: threads}
}
