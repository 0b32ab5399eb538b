package emulator

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "compile the PTX in testdata anew")

//go:generate go test . -run TestDataIsFresh -update

// The PTX in testdata is what clang-19 makes of the sources beside it.
func TestDataIsFresh(t *testing.T) {
	clang, err := exec.LookPath("clang-19")
	if err != nil {
		t.Skip("clang-19 is not installed")
	}
	for _, x := range []struct{ source, arch string }{{"basic", "75"}, {"basic", "80"}, {"faults", "80"}} {
		made := filepath.Join(t.TempDir(), "made.ptx")
		out, err := exec.Command(clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_"+x.arch, "-nocudainc", "-nocudalib",
			"-O3", "-ffp-contract=fast", "-S", "testdata/"+x.source+".cu", "-o", made).CombinedOutput()
		if err != nil {
			t.Fatalf("%s.cu: %v\n%s", x.source, err, out)
		}
		want, err := os.ReadFile(made)
		must(t, err)
		name := "testdata/" + x.source + "_sm" + x.arch + ".ptx"
		if *update {
			must(t, os.WriteFile(name, want, 0o644))
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != string(want) {
			t.Errorf("%s is not up to date with its source: go generate ./gpu/emulator (%v)", name, err)
		}
	}
}
