//go:build linux && !nogpu

package nvml

import (
	"strings"
	"testing"

	"prismtop/gpu/library/librarytest"
)

// The UUIDs of the GPU and of the partition of testdata, as CUDA returns them.
const (
	gpuUUID       = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
	partitionUUID = "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f"
)

const mib = 1 << 20

// open opens the library of testdata without some of its functions.
func open(t *testing.T, without ...string) *Library {
	t.Helper()
	var flags []string
	for _, symbol := range without {
		flags = append(flags, librarytest.Without(symbol))
	}
	l, err := OpenFrom(librarytest.Build(t, "testdata/libnvidia-ml.c", flags...))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lacks reports whether an error says that the library lacks a function.
func lacks(err error, symbol string) bool {
	return err != nil && strings.HasSuffix(err.Error(), "libnvidia-ml.so.1 has no "+symbol)
}

func TestFreeMemoryByUUID(t *testing.T) {
	l := open(t)
	for uuid, want := range map[string]int64{gpuUUID: (81559 - 1189) * mib, partitionUUID: (4864 - 13) * mib} {
		if free, err := l.FreeMemory(uuid); free != want || err != nil {
			t.Errorf("%s: %d bytes, %v; want %d", uuid, free, err, want)
		}
	}
	if free, err := l.FreeMemory("GPU-20212223-2425-2627-2829-2a2b2c2d2e2f"); free != 0 || err != Error(6) {
		t.Errorf("%d bytes of no GPU, %v", free, err)
	}
}

func TestAMissingFunctionHidesNoOther(t *testing.T) {
	poor := open(t, "nvmlSystemGetDriverVersion", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetPowerUsage")
	if version, err := poor.DriverVersion(); version != "" || !lacks(err, "nvmlSystemGetDriverVersion") {
		t.Errorf("version %q, %v", version, err)
	}
	if _, err := poor.FreeMemory(gpuUUID); !lacks(err, "nvmlDeviceGetHandleByUUID") {
		t.Errorf("free memory: %v", err)
	}
	devices, err := poor.Devices()
	if err != nil || len(devices) != 2 {
		t.Fatalf("%d devices, %v", len(devices), err)
	}
	if _, err := devices[0].Power(); !lacks(err, "nvmlDeviceGetPowerUsage") {
		t.Errorf("power: %v", err)
	}
	if celsius, err := devices[0].Temperature(); celsius != 41 || err != nil {
		t.Errorf("temperature %g, %v", celsius, err)
	}
	if m, err := devices[1].Memory(); m.Total != 4864*mib || err != nil {
		t.Errorf("memory %+v, %v", m, err)
	}
}

func TestDevicesNeedNotBeListed(t *testing.T) {
	for _, symbol := range []string{"nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2"} {
		l := open(t, symbol)
		if version, err := l.DriverVersion(); version != "550.90.07" || err != nil {
			t.Errorf("without %s: version %q, %v", symbol, version, err)
		}
		if free, err := l.FreeMemory(gpuUUID); free == 0 || err != nil {
			t.Errorf("without %s: %d bytes free, %v", symbol, free, err)
		}
		devices, err := l.Devices()
		if err == nil {
			_, err = devices[1].Power()
		}
		if !lacks(err, symbol) {
			t.Errorf("without %s: %v", symbol, err)
		}
	}
}

func TestALibraryThatCannotStartIsNotOpened(t *testing.T) {
	path := librarytest.Build(t, "testdata/libnvidia-ml.c", librarytest.Without("nvmlInit_v2"))
	if l, err := OpenFrom(path); l != nil || !lacks(err, "nvmlInit_v2") {
		t.Errorf("%v, %v", l, err)
	}
}
