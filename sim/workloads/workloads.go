// Package workloads lists the workloads of prismtop, on the devices of this build. It
// is imported only by packages that start runs.
package workloads

import (
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/host"
	"prismtop/sim/cpu/roof"
	"prismtop/sim/curve"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
)

// Workload is one kind of work for a run.
type Workload struct {
	Presets preset.Shelf
	Maker   func(gpuReason string) workload.Maker // reason why no GPU can be used
}

// All lists the workloads; the program runs the first unless a preset names another.
var All = []Workload{
	{prism.Presets(), func(gpuReason string) workload.Maker { return PRISM(gpuReason) }},
	{curve.Presets(), func(string) workload.Maker { return curve.Maker{} }},
}

// Presets returns the presets of all workloads.
func Presets() preset.Shelves {
	shelves := make(preset.Shelves, len(All))
	for i, w := range All {
		shelves[i] = w.Presets
	}
	return shelves
}

// Maker makes tasks of the workload to which the settings belong.
func Maker(v settings.Values, gpuReason string) workload.Maker {
	i := slices.IndexFunc(All, func(w Workload) bool { return w.Presets.Table == v.Table() })
	return All[i].Maker(gpuReason)
}

// PRISM makes PRISM's progressive reconstructions. gpuReason is why no GPU can be used.
func PRISM(gpuReason string) prism.Maker {
	return prism.Maker{Open: openCPU, Kernels: cpu.CheckKernels, GPUReason: gpuReason}
}

// openCPU starts the CPU backend, and a host that shares its threads and its cache of
// FFT plans.
func openCPU(s *prism.Settings) (prism.Device, error) {
	plans := host.NewPlanCache(s.FFTCache, nil)
	backend, err := cpu.New(cpu.Options{Threads: s.Threads, Kernels: s.Kernels, FFTPlans: plans})
	if err != nil {
		return prism.Device{}, err
	}
	plans.SetKernels(backend.Set())
	return prism.Device{Backend: backend, Host: host.New(host.Options{
		Kernels: backend.Set(), Plans: plans, Parallel: backend.Parallel(), Attach: backend.Attach,
	})}, nil
}

// Judge compares steps with measured roofs; nil for none.
func Judge(r *roof.Roofs) workload.Judge {
	if r == nil {
		return nil
	}
	return judge{r}
}

type judge struct{ measured *roof.Roofs }

// Shares returns a step's shares of the arithmetic rate and of the bandwidth.
func (j judge) Shares(flops, bytes int64, d time.Duration) (compute, memory float64) {
	v := j.measured.Judge(flops, bytes, d)
	return v.Compute, v.Memory
}

// Roofs returns the roofs in the form used by a snapshot: of reading and updating, the
// higher bandwidth, as in judging steps.
func (j judge) Roofs() *profiles.Roofs {
	shown := &profiles.Roofs{GFLOPS: j.measured.GFLOPS}
	for _, l := range j.measured.Levels {
		shown.Levels = append(shown.Levels, profiles.RoofLevel{Bytes: l.Bytes, GBs: max(l.Read, l.Update)})
	}
	return shown
}
