package gpu

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// With the tag nogpu, the program needs no dynamic linker, and so no C library. The linker makes a static program unless
// a package has directives of cgo that import from libraries; without cgo, those of purego are the only ones.
func TestWithoutGPUTheProgramIsStatic(t *testing.T) {
	if found := dynamic(t, "-tags=nogpu"); len(found) > 0 {
		t.Errorf("these files import from libraries: %q", found)
	}
	if found := dynamic(t); len(found) == 0 {
		t.Error("none imports from libraries with GPU support")
	}
}

// dynamic returns the files of the program, built for Linux without cgo, that import from libraries.
func dynamic(t *testing.T, flags ...string) (found []string) {
	t.Helper()
	list := exec.Command("go", append(append([]string{"list", "-deps", "-json=Dir,GoFiles"}, flags...), "prismtop")...)
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p struct {
			Dir     string
			GoFiles []string
		}
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte("\n//go:cgo_import_dynamic ")) || bytes.Contains(text, []byte("\n//go:cgo_dynamic_linker ")) {
				found = append(found, path)
			}
		}
	}
	return found
}
