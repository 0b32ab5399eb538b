package workloads

import (
	"errors"

	"prismtop/profiles/settings"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/host"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
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

// open starts the device that the settings name, auto being the GPU if there is one.
func (d Devices) open(s *prism.Settings) (prism.Device, error) {
	device, err := openCPU(s)
	switch {
	case err != nil || s.Device == "cpu" || s.Device == "auto" && d.gpuReason() != "":
		return device, err
	case d.gpuReason() != "":
		device.Backend.Close()
		return prism.Device{}, errors.New(d.gpuReason())
	}
	gpu, err := d.GPU()
	if err != nil {
		device.Backend.Close()
		return prism.Device{}, err
	}
	device.Backend = beside{gpu, device.Backend}
	return device, nil
}

// backend starts the backend that the settings of a workload without a host name.
func (d Devices) backend(v settings.Values) (nn.Backend, error) {
	switch device := v.Text(settings.Device); {
	case device == "cpu" || device == "auto" && d.gpuReason() != "":
		return cpu.New(cpu.Options{Threads: v.Int(settings.Threads), Kernels: v.Text("kernels")})
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
