package sim

import (
	"fmt"

	"prismtop/profiles/preset"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/host"
	"prismtop/sim/prism"
)

// OpenDevice starts what the settings compute on, with its cache of FFT plans. Closing
// the device's backend ends its threads.
func OpenDevice(s *preset.Settings) (prism.Device, error) {
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

// checkDevice refuses a device that this machine, or this build, does not have.
func (o *Options) checkDevice(device string) error {
	if device == "cuda" {
		return fmt.Errorf("device = cuda: %s", o.GPUReason)
	}
	return nil
}
