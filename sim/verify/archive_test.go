package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/sim/npy/npytest"
)

func someFiles() []npytest.File {
	return []npytest.File{
		{Name: "a.x", Data: npytest.Array("<f4", "2, 3", npytest.Float32s(1, 2, 3, -4, 5, 6))},
		{Name: "mask", Data: npytest.Array("|u1", "4,", []byte{0, 1, 1, 0})},
	}
}

func TestReadArchiveNamesTheFile(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.npz")
	if _, _, err := readArchive(t.Context(), missing); err == nil || err.Error() != missing+": no such file or directory" {
		t.Errorf("missing file: %v", err)
	}
	if _, _, err := readArchive(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a folder: needs a file") {
		t.Errorf("folder: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text.npz")
	if err := os.WriteFile(text, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readArchive(t.Context(), text); err == nil || !strings.Contains(err.Error(), "text.npz: not an NPZ file") {
		t.Errorf("text: %v", err)
	}
}

func TestOtherElementTypesAreDamage(t *testing.T) {
	for _, kind := range []string{"<f2", "<u2", "|i1", "<f4"} {
		path := write(t, npytest.Archive(npytest.File{Name: "a", Data: npytest.Array(kind, "2,", make([]byte, 8))}))
		arrays, damaged, err := readArchive(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if kind == "<f4" {
			if len(damaged) != 0 || arrays["a"].shape.String() != "2" {
				t.Errorf("%s: %v, %v", kind, arrays, damaged)
			}
			continue
		}
		if len(damaged) != 1 || damaged[0].Error() != "array a: has elements of type "+kind+", which no check uses" {
			t.Errorf("%s: %v", kind, damaged)
		}
	}
}
