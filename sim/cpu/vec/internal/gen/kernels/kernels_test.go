package kernels

import (
	"bytes"
	"io/fs"
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
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if (filepath.Ext(path) == ".s" || filepath.Base(path) == "stubs.go") && files[filepath.FromSlash(path)] == nil {
			t.Errorf("%s is not generated", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
