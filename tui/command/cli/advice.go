package cli

import (
	"cmp"
	"context"

	"prismtop/profiles"
	"prismtop/profiles/adviser"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/sim/cpu/features"
)

// AdviceMachine is this machine with a device, for which advice was measured.
func AdviceMachine(device, kernels string, threads int) adviser.Machine {
	cpu := features.Detect()
	return adviser.Machine{CPU: cmp.Or(cpu.Model, cpu.Reason), Processors: machine.Processors(), Device: device,
		Kernels: kernels, Threads: threads}
}

// Advice returns what benchmarks found on this machine, with any kernels and threads.
func Advice(ctx context.Context) ([]adviser.Finding, error) {
	store, err := adviser.UserStore()
	if err != nil {
		return nil, err
	}
	return store.Load(ctx, AdviceMachine("", "", 0))
}

// Quoted returns what the screen of a run on this machine says about mixed precision under some settings. Advice
// that cannot be read is none: prismtop doctor says why.
func Quoted() func(profiles.RunInfo, settings.Values) []profiles.Caution {
	all, err := Advice(context.Background())
	if err != nil {
		return nil
	}
	m := AdviceMachine("", "", 0)
	return func(run profiles.RunInfo, v settings.Values) []profiles.Caution {
		m.Device, m.Kernels, m.Threads = run.Device, run.Kernels, cmp.Or(v.Int(settings.Threads), m.Processors)
		return adviser.Quote(all, m, v.Table().Roles().Precision, v)
	}
}
