package workloads

import (
	"errors"

	"prismtop/profiles/settings"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/host"
	"prismtop/sim/nn"
	"prismtop/sim/optics"
	"prismtop/sim/prism"
	"prismtop/sim/ptycho/training"
)

// Devices are the devices besides the processor. The zero value has none.
type Devices struct {
	// GPU opens the backend of the GPU; nil if this build has none.
	GPU func() (nn.Backend, error)
	// GPUReason is the reason why no GPU can be used; empty if GPU can open one.
	GPUReason string
}

// gpuReason returns why no GPU can be used, "" if one can.
func (d Devices) gpuReason() string {
	if d.GPU == nil && d.GPUReason == "" {
		return "this program has no backend for GPUs"
	}
	return d.GPUReason
}

// engine is what a workload's settings say of its device.
type engine struct {
	device, kernels string
	threads         int
	fftCache        bool
}

// opened is a backend, with a host on the processor.
type opened struct {
	nn.Backend
	optics.Host
}

// openPRISM starts the device of a reconstruction.
func (d Devices) openPRISM(s *prism.Settings) (prism.Device, error) {
	o, err := d.open(engine{s.Device, s.Kernels, s.Threads, s.FFTCache})
	return prism.Device{Backend: o.Backend, Host: o.Host}, err
}

// openTraining starts the device of a training.
func (d Devices) openTraining(s *training.Settings) (training.Device, error) {
	o, err := d.open(engine{s.Device, s.Kernels, s.Threads, true})
	if err != nil {
		return training.Device{}, err
	}
	return training.Device{Backend: o.Backend, Metrics: o.Metrics()}, nil
}

// open starts the device that the settings name, auto being the GPU if there is one.
func (d Devices) open(e engine) (opened, error) {
	device, err := openCPU(e)
	switch {
	case err != nil || e.device == "cpu" || e.device == "auto" && d.gpuReason() != "":
		return device, err
	case d.gpuReason() != "":
		device.Backend.Close()
		return opened{}, errors.New(d.gpuReason())
	}
	gpu, err := d.GPU()
	if err != nil {
		device.Backend.Close()
		return opened{}, err
	}
	device.Backend = beside{gpu, device.Backend}
	return device, nil
}

// backend starts the backend that the settings of a workload without a host name.
func (d Devices) backend(v settings.Values) (nn.Backend, error) {
	switch device := v.Text(settings.Device); {
	case device == "cpu" || device == "auto" && d.gpuReason() != "":
		backend, err := cpu.New(cpu.Options{Threads: v.Int(settings.Threads), Kernels: v.Text("kernels")})
		if err != nil {
			return nil, err // a nil *cpu.Backend would be an nn.Backend that is not nil
		}
		return backend, nil
	case d.gpuReason() != "":
		return nil, errors.New(d.gpuReason())
	}
	return d.GPU()
}

// beside is a backend that computes the plans beside the processor, on which the host
// measures and compares.
type beside struct {
	nn.Backend
	processor nn.Backend
}

// SetThreads sets the threads of both.
func (b beside) SetThreads(n int) {
	b.Backend.SetThreads(n)
	b.processor.SetThreads(n)
}

// Close closes both.
func (b beside) Close() {
	b.Backend.Close()
	b.processor.Close()
}

// openCPU starts the CPU backend, and a host that shares its threads and its cache of FFT
// plans.
func openCPU(e engine) (opened, error) {
	plans := host.NewPlanCache(e.fftCache, nil)
	backend, err := cpu.New(cpu.Options{Threads: e.threads, Kernels: e.kernels, FFTPlans: plans})
	if err != nil {
		return opened{}, err
	}
	plans.SetKernels(backend.Set())
	return opened{Backend: backend, Host: host.New(host.Options{
		Kernels: backend.Set(), Plans: plans, Parallel: backend.Parallel(), Attach: backend.Attach,
	})}, nil
}
