package command

import (
	"context"

	"prismtop/profiles/machine"
	"prismtop/sim/cpu/features"
	"prismtop/sim/cpu/roof"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
	"prismtop/tui/doctor"
)

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
