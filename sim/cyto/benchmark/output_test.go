package benchmark

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Results replace neither the list nor a folder, and a folder that cannot be made is known before anything runs.
func TestOutputsAreCheckedFirst(t *testing.T) {
	dir := t.TempDir()
	list, blocked := filepath.Join(dir, "t.csv"), filepath.Join(dir, "file")
	for _, path := range []string{list, blocked} {
		if err := os.WriteFile(path, []byte("branch\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"": "", filepath.Join(dir, "new", "results.json"): "", blocked: "", list: "is the list of tasks", dir: "is a folder", filepath.Join(blocked, "results.json"): "not a directory",
	} {
		switch err := checkOutput(path, list); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "new", "*")); len(left) != 0 {
		t.Errorf("%q is left", left)
	}
}
