package learning

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/sim/weights"
)

// Files that belong together have one base, which is numbered where one of them is taken and must stay.
func TestFilesAreNamedTogether(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	suffixes, data := []string{".npz", "-phase.png"}, [][]byte{{'x'}, {'y'}}
	for _, c := range []struct {
		fresh bool
		want  string
	}{{false, base}, {true, base + "-2"}, {false, base}, {true, base + "-3"}} {
		paths, err := WriteNamed(base, c.fresh, suffixes, data)
		if err != nil || len(paths) != 2 || paths[0] != c.want+".npz" || paths[1] != c.want+"-phase.png" {
			t.Errorf("fresh %v: %v, %v; want those of %s", c.fresh, paths, err, c.want)
		}
		for i, path := range paths {
			if text, err := os.ReadFile(path); string(text) != string(data[i]) {
				t.Errorf("%s says %q (%v)", path, text, err)
			}
		}
	}
}

// An error of saving names the file that it is about, or else the base.
func TestErrorsOfSavingNameAFile(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("nothing was learned yet"), "saving base: nothing was learned yet"},
		{&fs.PathError{Op: "write", Path: "base.png", Err: errors.New("full")}, "saving base.png: full"},
	} {
		if _, err := Saving("base", func() ([]string, error) { return nil, c.err }); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// Weights are left in a folder that is made for them; the error says what they are missing for.
func TestWeightsAreLeft(t *testing.T) {
	folder := t.TempDir()
	all := []weights.Tensor{{Name: "w", Shape: []int{2}, Values: []float32{1, 2}}}
	path := filepath.Join(folder, "deep", "w.npz")
	if said, err := Leave("inference", path, all); err != nil || said != "weights for inference in "+path {
		t.Errorf("%q, %v", said, err)
	}
	read, _, err := weights.Read(t.Context(), path, weights.Network{Arrays: []weights.Tensor{{Name: "w", Shape: []int{2}}}})
	if err != nil || len(read) != 1 || read[0].Values[1] != 2 {
		t.Errorf("read %v, %v", read, err)
	}
	if _, err := Leave("inference", filepath.Join(path, "w.npz"), all); err == nil || !strings.HasPrefix(err.Error(), "the weights are not kept for inference: ") {
		t.Errorf("below a file: %v", err)
	}
}
