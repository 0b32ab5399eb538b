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

// roofsOf are the machine's roofs, from the user's cache directory or measured
// now. An error beside roofs says why they were not kept.
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

// judgeRoofs judges layers by the roofs of this machine that were measured before; nil
// for none.
func judgeRoofs(kernels string, threads int) workload.Judge {
	return workloads.Judge(keptRoofs(kernels, threads))
}

// keptRoofs are the roofs of this machine that were measured before, or nil.
func keptRoofs(kernels string, threads int) *roof.Roofs {
	store, err := roof.UserStore()
	if err != nil {
		return nil
	}
	return store.Load(context.Background(), roofKey(features.Detect(), kernels, threads))
}

func roofKey(processor machine.CPU, kernels string, threads int) roof.Key {
	if set, err := vec.Choose(kernels); err == nil {
		kernels = set.String() // AMX has the roofs of the float32 kernels beside it
	}
	return roof.Key{CPU: processor.Model, Logical: processor.Logical, Version: version, Kernels: kernels, Threads: threads}
}

// doctorRoofs are the roofs in the doctor's terms, with a note on how they were measured.
func doctorRoofs(r *roof.Roofs, note string) doctor.Roofs {
	to := doctor.Roofs{GFLOPS: r.GFLOPS, Measured: r.Measured, Note: note}
	for _, l := range r.Levels {
		to.Levels = append(to.Levels, doctor.Level(l))
	}
	return to
}
