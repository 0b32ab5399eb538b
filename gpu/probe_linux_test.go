//go:build linux && !nogpu

package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prismtop/gpu/library"
	"prismtop/gpu/library/librarytest"
	sensors "prismtop/gpu/monitor"
)

// insideVariable is set in the process of TestThroughTheMachinesLibraries that finds the libraries of the tests where
// it looks for the machine's.
const insideVariable = "GPU_TEST_INSIDE"

func TestThroughTheMachinesLibraries(t *testing.T) {
	if os.Getenv(insideVariable) == "" {
		cuda := librarytest.Build(t, "driver/libcuda/testdata/libcuda.c")
		ml := librarytest.Build(t, "nvml/testdata/libnvidia-ml.c")
		cmd := exec.Command(os.Args[0], "-test.run=^TestThroughTheMachinesLibraries$", "-test.v")
		cmd.Env = append(os.Environ(), insideVariable+"=1", "LD_LIBRARY_PATH="+filepath.Dir(cuda)+":"+filepath.Dir(ml))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	status := Probe()
	if status.CUDA != "12.4" || status.Driver != "550.90.07" || len(status.Devices) != 1 {
		t.Fatalf("probe = %+v", status)
	}
	const uuid, mib = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", 1 << 20
	d := status.Devices[0]
	if d.Name != "Test Device" || d.Capability != "8.6" || d.TotalBytes != 5<<32 || d.FreeBytes != (81559-1189)*mib || d.UUID != uuid {
		t.Errorf("device = %+v", d)
	}
	if free, known := freeMemory(uuid); free != d.FreeBytes || !known {
		t.Errorf("%d bytes free, known: %t", free, known)
	}
	if free, known := freeMemory("GPU-"); free != 0 || known {
		t.Errorf("%d bytes of no device free, known: %t", free, known)
	}
	if s := sensors.Read(); len(s.GPUs) != 2 || s.GPUs[0].UUID != uuid {
		t.Errorf("sensors = %+v", s)
	}
	ml, err := library.Open("libnvidia-ml.so.1")
	if err != nil {
		t.Fatal(err)
	}
	var initialised func() int32
	if err := ml.Bind("mock_initialised", &initialised); err != nil {
		t.Fatal(err)
	}
	if n := initialised(); n != 1 {
		t.Errorf("NVML is initialised %d times, want once for all", n)
	}
}
