package runs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/compare"
	"prismtop/profiles/compare/recorded"
)

// A comparison does not replace a recording that it is of, nor a file that another process writes.
func TestAComparisonReplacesNoFileInUse(t *testing.T) {
	folder := t.TempDir()
	kept, used := filepath.Join(folder, "a.sqlite"), filepath.Join(folder, "used.md")
	for _, path := range []string{kept, used} {
		if err := os.WriteFile(path, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := atomicfile.LockPath(used, "another process")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	r := recordings{sides: [][]recorded.Recording{{{Path: kept}}}}
	if err := r.Write(&compare.Comparison{}, kept, true); err == nil || !strings.Contains(err.Error(), "is the file of a recording that is compared") {
		t.Errorf("onto a recording: %v", err)
	}
	var locked *atomicfile.LockedError
	if err := r.Write(&compare.Comparison{}, used, true); !errors.As(err, &locked) {
		t.Errorf("onto a file in use: %v", err)
	}
	for _, path := range []string{kept, used} {
		if text, err := os.ReadFile(path); err != nil || string(text) != "kept" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
}
