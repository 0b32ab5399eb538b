package verify

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"prismtop/profiles/await/awaittest"
)

// Reading and recomputing end with their context wherever they are, and make no report.
func TestAContextEndsVerifying(t *testing.T) {
	backend := engine(t)
	for _, path := range goldenFiles(t) {
		whole := awaittest.After(1 << 40)
		if _, err := File(whole, path, backend); err != nil || whole.Looks() < 10 {
			t.Errorf("%s: %d looks, %v", filepath.Base(path), whole.Looks(), err)
		}
		for _, looks := range []int{0, 2, whole.Looks() / 2, whole.Looks() - 1} {
			reports, err := Files(awaittest.After(looks), []string{path, path}, backend)
			if reports != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("%s, ended after %d looks of %d: %v", filepath.Base(path), looks, whole.Looks(), err)
			}
		}
	}
}

func TestAPipeIsNoArchive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.npz")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		_, _, err := readArchive(t.Context(), path)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "pipe.npz: is a pipe: needs a file of at most 256 MiB") {
			t.Errorf("%v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("still read after 30 s")
	}
}
