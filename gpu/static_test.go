package gpu

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// With the tag nogpu, the program needs no dynamic linker, and so no C library.
func TestWithoutGPUTheProgramIsStatic(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	path := filepath.Join(t.TempDir(), "prismtop")
	build := exec.Command("go", "build", "-tags", "nogpu", "-o", path, "prismtop")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	program, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, header := range program.Progs {
		if header.Type == elf.PT_INTERP || header.Type == elf.PT_DYNAMIC {
			t.Errorf("the program has a header %v", header.Type)
		}
	}
	if len(program.Progs) == 0 {
		t.Error("the program has no headers")
	}
}
