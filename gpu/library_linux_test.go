//go:build linux && !nogpu

package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// build compiles a library of testdata, or skips where there is no C compiler.
func build(t *testing.T, name string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build the library that stands in for the driver:", err)
	}
	path := filepath.Join(t.TempDir(), name+".so.1")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", path, "testdata/"+name+".c").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return path
}

func TestProbeThroughRealLibraries(t *testing.T) {
	cuda, ml := build(t, "libcuda"), build(t, "libnvidia-ml")
	status := probe(func() (driver, error) { return openDriverFrom("libabsent.so.1", cuda) },
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

func TestOpenLibraryTellsAbsentFromBroken(t *testing.T) {
	_, err := openLibrary("libabsent.so.1", "/no/such/libabsent.so.1")
	if err == nil || err.Error() != "libabsent.so.1 not found" {
		t.Errorf("absent: %v", err)
	}
	broken := filepath.Join(t.TempDir(), "libbroken.so.1")
	if err := os.WriteFile(broken, []byte("not a library, though long enough to be read as one"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = openLibrary("libabsent.so.1", broken)
	if err == nil || !strings.Contains(err.Error(), "libbroken.so.1 does not load") {
		t.Errorf("broken: %v", err)
	}
}

func TestMissingSymbolIsAnError(t *testing.T) {
	ml := build(t, "libnvidia-ml")
	if _, err := openDriverFrom(ml); err == nil || !strings.HasSuffix(err.Error(), "has no cuInit") {
		t.Errorf("driver without cuInit: %v", err)
	}
}

// Where goroutines compete for the processors, one that returns from the dynamic linker
// may go on another thread, which knows of no failure.
func TestTheReasonIsThereOnABusyMachine(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "libbroken.so.1")
	if err := os.WriteFile(broken, []byte("not a library, though long enough to be read as one"), 0o644); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	defer close(stop)
	for range 4 * runtime.GOMAXPROCS(0) {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		}()
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 300 {
				if _, err := openLibrary("libabsent.so.1"); err == nil || err.Error() != "libabsent.so.1 not found" {
					t.Errorf("absent: %v", err)
					return
				}
				prefix := broken + " does not load: "
				_, err := openLibrary("libabsent.so.1", broken)
				if err == nil || !strings.HasPrefix(err.Error(), prefix) || len(err.Error()) == len(prefix) || strings.Contains(err.Error(), "libabsent") {
					t.Errorf("broken: %v", err)
					return
				}
			}
		})
	}
	wait.Wait()
}
