package kernels

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestCommittedAssemblyIsWhatTheGeneratorWrites(t *testing.T) {
	const dir = "../../.."
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not up to date (%v): run go generate ./sim/cpu/vec", name, err)
		}
	}
	committed, err := filepath.Glob(filepath.Join(dir, "*.s"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range committed {
		if files[filepath.Base(path)] == nil {
			t.Errorf("%s is not generated", path)
		}
	}
}
