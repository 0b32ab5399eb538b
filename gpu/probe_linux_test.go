//go:build linux && !nogpu

package gpu

import (
	"os/exec"
	"path/filepath"
	"testing"

	"prismtop/gpu/driver"
	"prismtop/gpu/driver/libcuda"
)

// build compiles a library, or skips where there is no C compiler.
func build(t *testing.T, source string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build the library that stands in for the driver:", err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(source)+".so.1")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-pthread", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return path
}

func TestProbeThroughRealLibraries(t *testing.T) {
	cuda, ml := build(t, "driver/libcuda/testdata/libcuda.c"), build(t, "testdata/libnvidia-ml.c")
	status := probe(func() (driver.Driver, error) { return libcuda.OpenFrom("libabsent.so.1", cuda) },
		func() (monitor, error) { return openMonitorFrom(ml) })
	if status.CUDA != "12.4" || status.Driver != "550.90.07" || len(status.Devices) != 1 {
		t.Fatalf("probe = %+v", status)
	}
	d := status.Devices[0]
	if d.Name != "Test Device" || d.Capability != "8.6" || d.TotalBytes != 5<<32 || d.FreeBytes != 70 {
		t.Errorf("device = %+v", d)
	}
	if d.UUID != "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f" {
		t.Errorf("uuid = %q", d.UUID)
	}
}
