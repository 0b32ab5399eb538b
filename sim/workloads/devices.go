package workloads

import (
	"errors"
	"fmt"
	"strings"

	"prismtop/profiles/settings"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/host"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/optics"
	"prismtop/sim/prism"
	"prismtop/sim/ptycho/training"
	"prismtop/sim/workload"
)

// Devices are the devices besides the processor. The zero value has none.
type Devices struct {
	// GPU opens the backend of the GPU of a value of the setting device, auto being the first; nil if this build has
	// none.
	GPU func(device string) (nn.Backend, error)

	// GPUReason returns the reason why that GPU cannot be used, empty if GPU opens it. It may wait for the driver. nil
	// stands for an empty reason.
	GPUReason func(device string) string

	// Ordinal returns the number of that GPU in the driver's list. nil stands for that in the value, or 0.
	Ordinal func(device string) int
}

// NoGPU are devices without a GPU, for a reason.
func NoGPU(reason string) Devices {
	return Devices{GPUReason: func(string) string { return reason }}
}

// gpuReason returns why a GPU cannot be used, "" if it can.
func (d Devices) gpuReason(device string) string {
	if d.GPUReason != nil {
		if reason := d.GPUReason(device); reason != "" {
			return reason
		}
	}
	if d.GPU == nil {
		return "this program has no backend for GPUs"
	}
	return ""
}

// openPRISM starts the device of a reconstruction.
func (d Devices) openPRISM(s *prism.Settings) (prism.Device, error) {
	processor, measures, err := openCPU(s.Kernels, s.Threads, s.FFTCache)
	if err != nil {
		return prism.Device{}, err
	}
	device := prism.Device{Processor: processor, Host: measures, Resolve: d.resolve,
		Open: func(device string) (nn.Backend, string, error) {
			return d.open(device, processor)
		}}
	if device.Backend, device.Note, err = device.Open(s.Device); err != nil {
		processor.Close()
		return prism.Device{}, &settings.KeyError{Key: settings.Device,
			Err: &workload.LackingError{Err: fmt.Errorf("device = %s: %w", s.Device, err)}}
	}
	return device, nil
}

// resolve returns the device that a value of the setting stands for: "cpu", "cuda:0".
func (d Devices) resolve(device string) string {
	if device == "cpu" || device == "auto" && d.gpuReason(device) != "" {
		return "cpu"
	}
	if d.Ordinal != nil {
		return fmt.Sprintf("cuda:%d", d.Ordinal(device))
	}
	if _, number, numbered := strings.Cut(device, ":"); numbered {
		return "cuda:" + number
	}
	return "cuda:0"
}

// open returns the processor's backend, or opens that of a GPU. Under auto the note says why a GPU that seemed usable
// is not used.
func (d Devices) open(device string, processor nn.Backend) (b nn.Backend, note string, err error) {
	if device == "cpu" {
		return processor, "", nil
	}
	reason := d.gpuReason(device)
	switch {
	case reason != "" && device == "auto":
		return processor, "", nil // the run's description has the reason
	case reason != "":
		return nil, "", errors.New(reason)
	}
	gpu, err := d.GPU(device)
	switch {
	case err == nil:
		return gpu, "", nil
	case device == "auto":
		return processor, err.Error(), nil
	}
	return nil, "", err
}

// openTraining starts the device of a training.
func (d Devices) openTraining(s *training.Settings) (training.Device, error) {
	processor, measures, err := openCPU(s.Kernels, s.Threads, true)
	if err != nil {
		return training.Device{}, err
	}
	device, err := d.start(processor, s.Device)
	return training.Device{Device: device, Metrics: measures.Metrics()}, err
}

// openNetwork starts the device of a workload without a host.
func (d Devices) openNetwork(v settings.Values) (learning.Device, error) {
	processor, err := openProcessor(v)
	if err != nil {
		return learning.Device{}, err
	}
	return d.start(processor, v.Text(settings.Device))
}

// start returns the device of a value of the setting, beside the processor's backend.
func (d Devices) start(processor nn.Backend, device string) (learning.Device, error) {
	return learning.Start(processor, device,
		func(device string) (nn.Backend, string, error) { return d.open(device, processor) }, d.resolve)
}

// openProcessor starts the processor's backend of a workload without a host.
func openProcessor(v settings.Values) (nn.Backend, error) {
	backend, err := cpu.New(cpu.Options{Threads: v.Int(settings.Threads), Kernels: v.Text("kernels")})
	if err != nil {
		return nil, err // a nil *cpu.Backend would be an nn.Backend that is not nil
	}
	return backend, nil
}

// openCPU starts the CPU backend, and a host that shares its threads and its cache of FFT
// plans.
func openCPU(kernels string, threads int, fftCache bool) (nn.Backend, optics.Host, error) {
	plans := host.NewPlanCache(fftCache, nil)
	backend, err := cpu.New(cpu.Options{Threads: threads, Kernels: kernels, FFTPlans: plans})
	if err != nil {
		return nil, nil, err
	}
	plans.SetKernels(backend.Set())
	return backend, host.New(host.Options{
		Kernels: backend.Set(), Plans: plans, Parallel: backend.Parallel(), Attach: backend.Attach,
	}), nil
}
