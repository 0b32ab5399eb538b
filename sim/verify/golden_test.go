package verify

import (
	"os"
	"path/filepath"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
)

// golden is where the reference vectors lie beside a checkout.
const golden = "../../../shared/golden"

func goldenFiles(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(golden, "*.npz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skipf("there are no reference vectors in %s", golden)
	}
	return paths
}

func engine(t testing.TB) nn.Backend {
	t.Helper()
	backend, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Close)
	return backend
}

func TestGoldenVectorsAreWithinTolerance(t *testing.T) {
	backend := engine(t)
	for _, path := range goldenFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			report, err := File(path, backend)
			if err != nil {
				t.Fatal(err)
			}
			if !report.OK {
				for _, r := range report.Results {
					if !r.OK {
						t.Errorf("%s: error %v, allowed %v: %s", r.Array, r.Error, r.Allowed, r.Note)
					}
				}
			}
			if testing.Verbose() {
				_ = report.writeText(os.Stderr)
			}
		})
	}
}
