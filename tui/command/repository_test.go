package command

import (
	"os"
	"path/filepath"
	"testing"
)

// inRepository is the path of a file or a folder of the repository, whose root is the
// nearest folder above the working directory that has go.mod.
func inRepository(t testing.TB, name string) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, filepath.FromSlash(name))
		}
		above := filepath.Dir(root)
		if above == root {
			t.Fatalf("%s: no folder above the working directory has go.mod", name)
		}
		root = above
	}
}
