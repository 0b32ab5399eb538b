// Package workloads lists the workloads of prismtop, a line each, and opens the devices that they ask for: the
// processor's kernels, or a GPU's, which only the command line can hand in. It is imported only by packages that
// start runs; everything else knows a workload by its schema and its table of settings.
package workloads

import (
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cpu"
	"prismtop/sim/curve"
	"prismtop/sim/cyto/benchmark"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/learning"
	"prismtop/sim/prism"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/inference"
	"prismtop/sim/ptycho/training"
	"prismtop/sim/workload"
)

// Workload is one kind of work for a run.
type Workload struct {
	Presets preset.Shelf
	Schema  func() profiles.Schema
	Maker   func(Devices) workload.Maker

	// Saves are the ends of the names of the files that its tasks save; none if they have
	// nothing to save.
	Saves []string

	// Stateless names the settings' kind of run if its state cannot be written to a checkpoint, else returns "". nil is
	// that of every run.
	Stateless func(settings.Values) string

	// Unweighted is true of runs that have no weights to start from.
	Unweighted bool

	// NoGPU is the reason why no GPU computes it; empty if one can.
	NoGPU string
}

// All lists the workloads; the program runs the first unless a preset names another.
var All = []Workload{
	{prism.Presets(), prism.Schema, func(d Devices) workload.Maker { return PRISM(d) }, []string{".png", ".npy"}, nil, false, ""},
	{curve.Presets(), curve.Schema, func(Devices) workload.Maker { return curve.Maker{} }, nil, nil, true, "this workload computes on no device"},
	{training.Presets(), training.Schema, func(d Devices) workload.Maker { return ptychoTraining(d) }, training.Suffixes, nil, false, ""},
	{inference.Presets(), inference.Schema, func(d Devices) workload.Maker { return Ptycho(d) }, inference.Suffixes, always("an inference of ptycho"), false, ""},
	{benchmark.Presets(), benchmark.Schema, func(d Devices) workload.Maker { return CytoTasks(d) }, nil, always("a list of tasks"), true, ""},
	{im2im.Presets(), im2im.Schema, func(d Devices) workload.Maker { return Cyto(d) }, im2im.Suffixes, predictions, false, ""},
}

// Add adds a workload that is known at run time only, of which this process has one run. It must be called before that
// run, and by nothing that goes on beside others.
func Add(w Workload) { All = append(All, w) }

// always returns a Stateless of runs none of which has a state.
func always(name string) func(settings.Values) string {
	return func(settings.Values) string { return name }
}

// predictions is the Stateless of cyto, whose trainings have a state.
func predictions(v settings.Values) string {
	if im2im.From(v).Mode == im2im.Predict {
		return "a prediction of cyto"
	}
	return ""
}

// Presets returns the presets of all workloads.
func Presets() preset.Shelves {
	shelves := make(preset.Shelves, len(All))
	for i, w := range All {
		shelves[i] = w.Presets
	}
	return shelves
}

// Of returns the workload to which the settings belong.
func Of(v settings.Values) Workload {
	return All[slices.IndexFunc(All, func(w Workload) bool { return w.Presets.Table == v.Table() })]
}

// PRISM makes PRISM's progressive reconstructions.
func PRISM(d Devices) prism.Maker {
	return prism.Maker{Open: d.openPRISM, Kernels: cpu.CheckKernels, GPUReason: d.gpuReason}
}

// machine says what the machine has.
func (d Devices) machine() learning.Machine {
	return learning.Machine{Kernels: cpu.CheckKernels, GPUReason: d.gpuReason}
}

// ptychoTraining makes trainings of PtychoPINN's network.
func ptychoTraining(d Devices) training.Maker {
	return training.Maker{Open: d.openTraining, Machine: d.machine(), Leave: ptycho.TrainedPath}
}

// Ptycho makes PtychoPINN's inferences.
func Ptycho(d Devices) inference.Maker {
	return inference.Maker{Open: d.openNetwork, Machine: d.machine(), Trained: ptycho.TrainedPath}
}

// Cyto makes trainings of CytoDL's network, and predictions with it.
func Cyto(d Devices) im2im.Maker {
	return im2im.Maker{Open: d.openNetwork, Machine: d.machine(), Trained: im2im.TrainedPath}
}

// CytoTasks makes runs of lists of CytoDL's tasks.
func CytoTasks(d Devices) benchmark.Maker { return benchmark.Maker{Experiments: Cyto(d)} }
