//go:build linux && !nogpu

package nvml

import (
	"fmt"

	"prismtop/gpu/library"
)

// Opening NVML and binding its functions.

// openMachine opens the machine's library; the second path is that of the Windows Subsystem for Linux.
func openMachine() (*Library, error) {
	return OpenFrom("libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1")
}

// OpenFrom opens the first of the libraries that loads.
func OpenFrom(paths ...string) (*Library, error) {
	l, err := library.Open(paths...)
	if err != nil {
		return nil, err
	}
	var initialise func() int32
	if err := l.Bind("nvmlInit_v2", &initialise); err != nil {
		return nil, err
	}
	n := &Library{}
	bind(l, &n.driverVersion, "nvmlSystemGetDriverVersion")
	bind(l, &n.count, "nvmlDeviceGetCount_v2")
	bind(l, &n.handleByIndex, "nvmlDeviceGetHandleByIndex_v2")
	bind(l, &n.handleByUUID, "nvmlDeviceGetHandleByUUID")
	bind(l, &n.name, "nvmlDeviceGetName")
	bind(l, &n.uuid, "nvmlDeviceGetUUID")
	bind(l, &n.memory, "nvmlDeviceGetMemoryInfo")
	bind(l, &n.memoryV2, "nvmlDeviceGetMemoryInfo_v2")
	bind(l, &n.processes, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")
	bind(l, &n.utilisation, "nvmlDeviceGetUtilizationRates")
	bind(l, &n.power, "nvmlDeviceGetPowerUsage")
	bind(l, &n.powerLimit, "nvmlDeviceGetEnforcedPowerLimit")
	bind(l, &n.energy, "nvmlDeviceGetTotalEnergyConsumption")
	bind(l, &n.temperature, "nvmlDeviceGetTemperature")
	bind(l, &n.fan, "nvmlDeviceGetFanSpeed")
	bind(l, &n.clock, "nvmlDeviceGetClockInfo")
	bind(l, &n.maxClock, "nvmlDeviceGetMaxClockInfo")
	bind(l, &n.throttle, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
	bind(l, &n.pcie, "nvmlDeviceGetPcieThroughput")
	bind(l, &n.linkGeneration, "nvmlDeviceGetCurrPcieLinkGeneration")
	bind(l, &n.linkWidth, "nvmlDeviceGetCurrPcieLinkWidth")
	if err := check(initialise()); err != nil {
		return nil, err
	}
	return n, nil
}

// bind binds a function to the first of its names that the library has.
func bind[F any](l library.Library, f *function[F], symbols ...string) {
	for _, s := range symbols {
		if l.Bind(s, &f.call) == nil {
			return
		}
	}
	f.missing = fmt.Errorf("%s has no %s", l.Name(), symbols[0])
}
