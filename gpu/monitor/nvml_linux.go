//go:build linux && !nogpu

package monitor

import (
	"errors"
	"fmt"

	"prismtop/gpu/library"
	"prismtop/profiles/machine"
)

// optional is a function of the library, or the reason why it is missing.
type optional[F any] struct {
	call   F
	reason string
}

// bind binds a function to the first of its names that the library has.
func bind[F any](l library.Library, o *optional[F], symbols ...string) {
	for _, s := range symbols {
		if l.Bind(s, &o.call) == nil {
			return
		}
	}
	o.reason = fmt.Sprintf("%s has no %s", l.Name(), symbols[0])
}

// The types of functions that several sensors have.
type (
	words  = func(device uintptr, value *uint32) int32
	kinds  = func(device uintptr, kind int32, value *uint32) int32
	longs  = func(device uintptr, value *uint64) int32
	labels = func(device uintptr, text *byte, length uint32) int32
)

// nvml is libnvidia-ml through typed functions: purego keeps pointer arguments alive and in place during a call.
type nvml struct {
	init, shutdown func() int32
	count          func(n *uint32) int32
	handle         func(index uint32, device *uintptr) int32

	name, uuid                                        optional[labels]
	power, powerLimit, fan, linkGeneration, linkWidth optional[words]
	temperature, clock, maxClock, pcie                optional[kinds]
	energy, throttle                                  optional[longs]
	memory                                            optional[func(device uintptr, m *nvmlMemory) int32]
	memory2                                           optional[func(device uintptr, m *nvmlMemory2) int32]
	utilization                                       optional[func(device uintptr, u *nvmlUtilization) int32]
	processes                                         optional[func(device uintptr, count *uint32, infos *nvmlProcess) int32]
}

// openNVML opens the monitoring library; the second path is that of the Windows Subsystem for Linux.
func openNVML() (source, error) {
	return openNVMLFrom("libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1")
}

func openNVMLFrom(paths ...string) (source, error) {
	l, err := library.Open(paths...)
	if err != nil {
		return nil, err
	}
	n := &nvml{}
	err = l.BindAll([]library.Binding{
		{Symbol: "nvmlInit_v2", Func: &n.init},
		{Symbol: "nvmlShutdown", Func: &n.shutdown},
		{Symbol: "nvmlDeviceGetCount_v2", Func: &n.count},
		{Symbol: "nvmlDeviceGetHandleByIndex_v2", Func: &n.handle},
	})
	if err != nil {
		return nil, err
	}
	bind(l, &n.name, "nvmlDeviceGetName")
	bind(l, &n.uuid, "nvmlDeviceGetUUID")
	bind(l, &n.memory, "nvmlDeviceGetMemoryInfo")
	bind(l, &n.memory2, "nvmlDeviceGetMemoryInfo_v2")
	bind(l, &n.processes, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")
	bind(l, &n.utilization, "nvmlDeviceGetUtilizationRates")
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
	if code := n.init(); code != nvmlSuccess {
		return nil, errors.New(Describe(code))
	}
	return n, nil
}

func (n *nvml) Close() { n.shutdown() }

// each calls read for every GPU, with its handle or the reason why it has none.
func (n *nvml) each(read func(device uintptr, reason string)) {
	var count uint32
	if n.count(&count) != nvmlSuccess {
		return
	}
	for i := range count {
		var device uintptr
		reason := ""
		if code := n.handle(i, &device); code != nvmlSuccess {
			reason = Describe(code)
		}
		read(device, reason)
	}
}

// gauge returns a number of a function that may be missing.
func gauge(missing string, call func() (value float64, code int32)) machine.Gauge {
	if missing != "" {
		return machine.Missing(missing)
	}
	value, code := call()
	if code != nvmlSuccess {
		return machine.Missing(Describe(code))
	}
	return machine.Reading(value)
}

func word(o *optional[words], device uintptr, scale float64) machine.Gauge {
	return gauge(o.reason, func() (float64, int32) {
		var v uint32
		code := o.call(device, &v)
		return float64(v) * scale, code
	})
}

func kind(o *optional[kinds], device uintptr, of int32, scale float64) machine.Gauge {
	return gauge(o.reason, func() (float64, int32) {
		var v uint32
		code := o.call(device, of, &v)
		return float64(v) * scale, code
	})
}

func label(o *optional[labels], device uintptr) string {
	buffer := make([]byte, 96)
	if o.reason != "" || o.call(device, &buffer[0], uint32(len(buffer)-1)) != nvmlSuccess {
		return ""
	}
	return library.Text(buffer)
}

func (n *nvml) Energies() (all []machine.Gauge) {
	n.each(func(device uintptr, reason string) {
		if reason != "" {
			all = append(all, machine.Missing(reason))
			return
		}
		all = append(all, gauge(n.energy.reason, func() (float64, int32) {
			var millijoules uint64
			code := n.energy.call(device, &millijoules)
			return float64(millijoules) / 1e3, code
		}))
	})
	return all
}

func (n *nvml) GPUs() (all []machine.GPUSensors) {
	n.each(func(device uintptr, reason string) {
		if reason != "" {
			all = append(all, lost(reason))
			return
		}
		all = append(all, n.read(device))
	})
	return all
}

// lost returns the sensors of a GPU without a handle.
func lost(reason string) machine.GPUSensors {
	var g machine.GPUSensors
	for _, field := range g.Gauges() {
		*field = machine.Missing(reason)
	}
	g.ProcessesReason, g.ThrottleReason = reason, reason
	return g
}

func (n *nvml) read(device uintptr) machine.GPUSensors {
	g := machine.GPUSensors{
		Name: label(&n.name, device), UUID: label(&n.uuid, device),
		Power: word(&n.power, device, 1e-3), PowerLimit: word(&n.powerLimit, device, 1e-3),
		Temperature: kind(&n.temperature, device, temperatureGPU, 1), Fan: word(&n.fan, device, 1e-2),
		GraphicsClock: kind(&n.clock, device, clockGraphics, 1), MaxGraphicsClock: kind(&n.maxClock, device, clockGraphics, 1),
		SMClock: kind(&n.clock, device, clockSM, 1), MaxSMClock: kind(&n.maxClock, device, clockSM, 1),
		MemoryClock: kind(&n.clock, device, clockMemory, 1), MaxMemoryClock: kind(&n.maxClock, device, clockMemory, 1),
		Received: kind(&n.pcie, device, pcieReceived, 1e3), Sent: kind(&n.pcie, device, pcieSent, 1e3),
		LinkGeneration: word(&n.linkGeneration, device, 1), LinkWidth: word(&n.linkWidth, device, 1),
	}
	n.readMemory(device, &g)
	n.readProcesses(device, &g)
	n.readUtilization(device, &g)
	n.readThrottle(device, &g)
	return g
}

// readMemory prefers the second version of the call, which has what the driver reserves.
func (n *nvml) readMemory(device uintptr, g *machine.GPUSensors) {
	reason := n.memory2.reason
	if reason == "" {
		m := nvmlMemory2{version: memory2Version}
		code := n.memory2.call(device, &m)
		if code == nvmlSuccess {
			g.MemoryUsed, g.MemoryTotal = machine.Reading(float64(m.used)), machine.Reading(float64(m.total))
			g.MemoryReserved = machine.Reading(float64(m.reserved))
			return
		}
		reason = Describe(code)
	}
	g.MemoryReserved = machine.Missing(reason)
	var m nvmlMemory
	g.MemoryTotal = gauge(n.memory.reason, func() (float64, int32) {
		code := n.memory.call(device, &m)
		return float64(m.total), code
	})
	if g.MemoryUsed = g.MemoryTotal; g.MemoryUsed.Known {
		g.MemoryUsed.Value = float64(m.used)
	}
}

// readProcesses asks again with more room while processes come.
func (n *nvml) readProcesses(device uintptr, g *machine.GPUSensors) {
	if g.ProcessesReason = n.processes.reason; g.ProcessesReason != "" {
		return
	}
	room := uint32(32)
	for range 4 {
		infos := make([]nvmlProcess, room)
		count := room
		switch code := n.processes.call(device, &count, &infos[0]); {
		case code == nvmlInsufficientSize:
			room = 2 * max(count, room)
			continue
		case code != nvmlSuccess:
			g.ProcessesReason = Describe(code)
			return
		}
		for _, p := range infos[:min(count, room)] {
			bytes := machine.Reading(float64(p.usedGPUMemory))
			if p.usedGPUMemory == notAvailable {
				bytes = machine.Missing("the driver does not give the memory of the process")
			}
			g.Processes = append(g.Processes, machine.GPUProcess{ID: p.pid, Bytes: bytes})
		}
		return
	}
	g.ProcessesReason = "the list of processes changes faster than it is read"
}

func (n *nvml) readUtilization(device uintptr, g *machine.GPUSensors) {
	var u nvmlUtilization
	g.Utilisation = gauge(n.utilization.reason, func() (float64, int32) {
		code := n.utilization.call(device, &u)
		return float64(u.gpu) / 100, code
	})
	if g.MemoryUtilisation = g.Utilisation; g.Utilisation.Known {
		g.MemoryUtilisation.Value = float64(u.memory) / 100
	}
}

func (n *nvml) readThrottle(device uintptr, g *machine.GPUSensors) {
	if g.ThrottleReason = n.throttle.reason; g.ThrottleReason != "" {
		return
	}
	var mask uint64
	if code := n.throttle.call(device, &mask); code != nvmlSuccess {
		g.ThrottleReason = Describe(code)
		return
	}
	g.Throttle = throttleWords(mask)
}
