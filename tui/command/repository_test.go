package command

import (
	"os"
	"path/filepath"
	"testing"
)

// inRepository returns the path of a file or a folder in the repository, whose root is the
// closest parent of the working directory with a go.mod.
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
