package gpu

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"prismtop/gpu/driver"
	"prismtop/gpu/nvml"
	"prismtop/profiles/machine"
)

// fakeDriver answers like a driver with the given results and devices; calls that the probe must not make panic.
type fakeDriver struct {
	driver.Driver
	init, count driver.Result
	devices     []string
	uuids       bool
}

func failure(call string, r driver.Result) error {
	if r == 0 {
		return nil
	}
	return &driver.Error{Call: call, Result: r}
}

func (f fakeDriver) Init() error           { return failure("cuInit", f.init) }
func (f fakeDriver) Version() (int, error) { return 13010, nil }
func (f fakeDriver) DeviceCount() (int, error) {
	return len(f.devices), failure("cuDeviceGetCount", f.count)
}

func (f fakeDriver) DeviceGet(ordinal int) (driver.Device, error) {
	return driver.Device(100 + ordinal), nil
}
func (f fakeDriver) DeviceName(d driver.Device) (string, error)  { return f.devices[d-100], nil }
func (f fakeDriver) DeviceTotalMem(driver.Device) (int64, error) { return 1 << 30, nil }
func (f fakeDriver) DeviceUUID(d driver.Device) (u [16]byte, err error) {
	if !f.uuids {
		return u, driver.ErrMissing
	}
	u[15] = byte(d)
	return u, nil
}
func (f fakeDriver) DeviceAttribute(a driver.Attribute, _ driver.Device) (int, error) {
	switch a {
	case driver.ComputeCapabilityMajor:
		return 9, nil
	case driver.ComputeCapabilityMinor:
		return 0, nil
	}
	return 0, driver.ErrMissing
}

type fakeMonitor struct{}

func (fakeMonitor) DriverVersion() (string, error) { return "580.1", nil }
func (fakeMonitor) FreeMemory(uuid string) (int64, error) {
	if strings.HasSuffix(uuid, "65") {
		return 0, nvml.Error(15)
	}
	return 1 << 29, nil
}

func TestProbeSaysWhyThereIsNoDevice(t *testing.T) {
	tests := []struct {
		name   string
		driver fakeDriver
		open   error
		want   string
	}{
		{"no library", fakeDriver{}, errors.New("libcuda.so.1 not found"), "no CUDA device: libcuda.so.1 not found"},
		{"no device", fakeDriver{init: 100}, nil, "no CUDA device: cuInit: the driver finds no device (100)"},
		{"mismatch", fakeDriver{init: 803}, nil, "reboot or reload the module (803)"},
		{"unlisted code", fakeDriver{init: 77}, nil, "cuInit: CUDA error 77"},
		{"count fails", fakeDriver{count: 3}, nil, "cuDeviceGetCount: the driver is not initialised (3)"},
		{"count zero", fakeDriver{}, nil, "no CUDA device: the driver lists none"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status := probe(func() (driver.Driver, error) { return test.driver, test.open },
				func() (monitor, error) { t.Fatal("NVML asked without a device"); return nil, nil })
			if status.Usable || !strings.HasSuffix(status.Reason, test.want) || status.Devices != nil {
				t.Errorf("probe = %+v, want reason ending in %q", status, test.want)
			}
		})
	}
}

func TestProbeListsDevices(t *testing.T) {
	status := probe(func() (driver.Driver, error) { return fakeDriver{devices: []string{"a", "lost"}, uuids: true}, nil },
		func() (monitor, error) { return fakeMonitor{}, nil })
	if status.Reason != "" || !status.Usable || status.CUDA != "13.1" || status.Driver != "580.1" || len(status.Devices) != 2 {
		t.Fatalf("probe = %+v", status)
	}
	a, lost := status.Devices[0], status.Devices[1]
	if a.Name != "a" || a.Capability != "9.0" || a.TotalBytes != 1<<30 || a.FreeBytes != 1<<29 || a.FreeReason != "" {
		t.Errorf("device a = %+v", a)
	}
	if lost.FreeBytes != 0 || !strings.Contains(lost.FreeReason, "fallen off the bus") {
		t.Errorf("lost device = %+v", lost)
	}
}

func TestProbeWithoutMonitorSaysWhyFreeMemoryIsMissing(t *testing.T) {
	status := probe(func() (driver.Driver, error) { return fakeDriver{devices: []string{"a"}}, nil },
		func() (monitor, error) { return nil, errors.New("libnvidia-ml.so.1 not found") })
	if got := status.Devices[0].FreeReason; got != "libnvidia-ml.so.1 not found" {
		t.Errorf("free reason = %q", got)
	}
}

// TestProbeOnThisMachine runs the real libraries, whatever they are: it must
// come back with a reason and must not crash.
func TestProbeOnThisMachine(t *testing.T) {
	status := Probe()
	if status.Usable == (status.Reason != "") {
		t.Errorf("Probe() = %+v", status)
	}
	for _, d := range status.Devices {
		if d.Name == "" || d.TotalBytes <= 0 || (d.FreeBytes <= 0) == (d.FreeReason == "") {
			t.Errorf("device = %+v", d)
		}
	}
	t.Logf("%+v", status)
}

func TestAGPUIsUsableByItsCapabilityAndItsDriver(t *testing.T) {
	for _, tt := range []struct {
		name     string
		version  int
		devices  []string // capabilities
		device   string   // the setting
		ordinal  int
		reason   string
		unusable bool // as a whole
	}{
		{name: "new enough", version: 11000, devices: []string{"7.5"}, device: "auto"},
		{name: "an old driver", version: 10020, devices: []string{"8.0"}, device: "cuda", reason: "the driver is too old for the kernels: it has CUDA 10.2, they need 11.0", unusable: true},
		{name: "an old card", version: 12000, devices: []string{"6.1"}, device: "auto", reason: "card 0: compute capability 6.1: the kernels need 7.5 or later", unusable: true},
		{name: "the second of two", version: 12000, devices: []string{"6.1", "9.0"}, device: "cuda", ordinal: 1},
		{name: "the old one of two", version: 12000, devices: []string{"6.1", "9.0"}, device: "cuda:0", reason: "card 0: compute capability 6.1: the kernels need 7.5 or later"},
		{name: "by its number", version: 12000, devices: []string{"8.0", "9.0"}, device: "cuda:1", ordinal: 1},
		{name: "one that is not there", version: 12000, devices: []string{"8.0"}, device: "cuda:1", reason: "no such GPU: the driver lists 1, the first being cuda:0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := machine.GPU{CUDA: fmt.Sprintf("%d.%d", tt.version/1000, tt.version%1000/10)}
			for i, capability := range tt.devices {
				found.Devices = append(found.Devices, machine.GPUDevice{Name: fmt.Sprintf("card %d", i), Capability: capability})
			}
			judge(&found, tt.version)
			if found.Usable == tt.unusable || found.Usable == (found.Reason != "") {
				t.Errorf("judged %+v", found)
			}
			ordinal, reason := Ordinal(found, tt.device)
			if ordinal != tt.ordinal || reason != tt.reason {
				t.Errorf("device %s is %d, %q; want %d, %q", tt.device, ordinal, reason, tt.ordinal, tt.reason)
			}
		})
	}
}

func TestNoGPUHasItsReason(t *testing.T) {
	_, reason := Ordinal(machine.GPU{Reason: "no CUDA device: none"}, "cuda:1")
	if reason != "no CUDA device: none" {
		t.Errorf("reason = %q", reason)
	}
}
