package im2im

import (
	"os"
	"path/filepath"
	"testing"
)

// A run of images in files has a name, however the path is written.
func TestDataHasAName(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "nuclei")
	if err := os.MkdirAll(filepath.Join(folder, "test"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	for path, want := range map[string]string{
		".": "nuclei", "./": "nuclei", "test/..": "nuclei", "../nuclei": "nuclei", "test": "test", "a/b.tiff": "b", "a/.hidden": ".hidden", "/": "/",
	} {
		if got := nameOf(path); got != want {
			t.Errorf("%s is named %q, want %q", path, got, want)
		}
	}
}
