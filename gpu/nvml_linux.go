//go:build linux && !nogpu

package gpu

import (
	"errors"
	"strings"

	"prismtop/gpu/library"
	sensors "prismtop/gpu/monitor"
)

// nvmlMemory is nvmlMemory_t in bytes: total, free, used.
type nvmlMemory struct{ _, free, _ uint64 }

// nvml is libnvidia-ml, the driver's monitoring library.
type nvml struct {
	init          func() int32
	shutdown      func() int32
	driverVersion func(version *byte, length uint32) int32
	handleByUUID  func(uuid string, device *uintptr) int32
	memoryInfo    func(device uintptr, memory *nvmlMemory) int32
}

func openMonitor() (monitor, error) {
	return openMonitorFrom("libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1")
}

func openMonitorFrom(paths ...string) (monitor, error) {
	l, err := library.Open(paths...)
	if err != nil {
		return nil, err
	}
	n := &nvml{}
	err = l.BindAll([]library.Binding{
		{Symbol: "nvmlInit_v2", Func: &n.init},
		{Symbol: "nvmlShutdown", Func: &n.shutdown},
		{Symbol: "nvmlSystemGetDriverVersion", Func: &n.driverVersion},
		{Symbol: "nvmlDeviceGetHandleByUUID", Func: &n.handleByUUID},
		{Symbol: "nvmlDeviceGetMemoryInfo", Func: &n.memoryInfo},
	})
	if err != nil {
		return nil, err
	}
	if code := n.init(); code != 0 {
		return nil, errors.New(sensors.Describe(code))
	}
	return n, nil
}

func (n *nvml) DriverVersion() string {
	buffer := make([]byte, 96)
	if n.driverVersion(&buffer[0], uint32(len(buffer)-1)) != 0 {
		return ""
	}
	return library.Text(buffer)
}

// Free tries the whole device first, then a partition: CUDA returns the UUID of
// either as sixteen bytes, NVML expects a prefix for the kind.
func (n *nvml) Free(uuid string) (int64, error) {
	var device uintptr
	code := n.handleByUUID(uuid, &device)
	if code != 0 && n.handleByUUID("MIG-"+strings.TrimPrefix(uuid, "GPU-"), &device) != 0 {
		return 0, errors.New(sensors.Describe(code))
	}
	var memory nvmlMemory
	if code := n.memoryInfo(device, &memory); code != 0 {
		return 0, errors.New(sensors.Describe(code))
	}
	return int64(memory.free), nil
}

func (n *nvml) Close() { n.shutdown() }
