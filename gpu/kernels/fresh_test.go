package kernels_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/gpu/kernels"
	"prismtop/profiles/profilestest"
)

// files lists the sources and their PTX, in the order of SHA256SUMS.
func files(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.h", "*.cu", "sm_*/*.ptx"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names...)
	}
	return all
}

// The committed sums match the files: no source was changed without go generate, and no result by hand.
func TestSumsMatchTheFiles(t *testing.T) {
	var sums bytes.Buffer
	for _, name := range files(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), filepath.ToSlash(name))
	}
	want, err := os.ReadFile("SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(sums.Bytes(), want) {
		t.Errorf("SHA256SUMS is not that of the files; go generate ./gpu/kernels makes it:\n%s", sums.Bytes())
	}
}

// The archive in the program has the committed PTX and nothing else.
func TestTheArchiveHasThePTX(t *testing.T) {
	var want []string
	for _, name := range files(t) {
		if filepath.Ext(name) == ".ptx" {
			want = append(want, filepath.ToSlash(name))
		}
	}
	var got []string
	for _, set := range kernels.Sets() {
		modules, err := set.Modules()
		if err != nil {
			t.Skip(err)
		}
		for _, m := range modules {
			name := set.Name + "/" + m.Name + ".ptx"
			got = append(got, name)
			if text, err := os.ReadFile(name); err != nil || string(m.Text) != string(text)+"\x00" {
				t.Errorf("%s is not that of the archive (%v); go run ./gen pack makes it", name, err)
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the archive has %q, want %q", got, want)
	}
}

// Where the compiler is installed, it makes the committed PTX again, byte by byte.
func TestPTXIsThatOfTheSources(t *testing.T) {
	profilestest.OnlyExhaustive(t)
	version, err := exec.Command("clang-19", "--version").Output()
	if err != nil {
		t.Skip("no clang-19 to compile the kernels with: ", err)
	}
	if !strings.Contains(string(version), "clang version 19.") {
		t.Skipf("clang-19 is not version 19: %s", version)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	generator := filepath.Join(t.TempDir(), "gen")
	if out, err := exec.Command("go", "build", "-o", generator, "./gen").CombinedOutput(); err != nil {
		t.Fatalf("building the generator: %v\n%s", err, out)
	}
	folder := t.TempDir()
	for _, pattern := range []string{"*.h", "*.cu"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, name), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	generate := exec.Command(generator)
	generate.Dir = folder
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("generating: %v\n%s", err, out)
	}
	for _, name := range append(files(t), "SHA256SUMS") {
		committed, err := os.ReadFile(filepath.Join(here, name))
		if err != nil {
			t.Fatal(err)
		}
		if made, err := os.ReadFile(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		} else if !bytes.Equal(made, committed) {
			t.Errorf("%s is stale: go generate ./gpu/kernels makes it", name)
		}
	}
}
