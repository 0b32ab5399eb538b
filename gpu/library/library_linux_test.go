//go:build linux && !nogpu

package library

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestOpenTellsAbsentFromBroken(t *testing.T) {
	_, err := Open("libabsent.so.1", "/no/such/libabsent.so.1")
	if err == nil || err.Error() != "libabsent.so.1 not found" {
		t.Errorf("absent: %v", err)
	}
	broken := filepath.Join(t.TempDir(), "libbroken.so.1")
	if err := os.WriteFile(broken, []byte("not a library, though long enough to be read as one"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Open("libabsent.so.1", broken)
	if err == nil || !strings.Contains(err.Error(), "libbroken.so.1 does not load") {
		t.Errorf("broken: %v", err)
	}
}

// Where goroutines compete for the processors, one that returns from the dynamic linker
// may go on another thread, which has no record of the failure.
func TestTheReasonIsThereOnABusyMachine(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "libbroken.so.1")
	if err := os.WriteFile(broken, []byte("not a library, though long enough to be read as one"), 0o644); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	defer close(stop)
	for range 4 * runtime.GOMAXPROCS(0) {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		}()
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 300 {
				if _, err := Open("libabsent.so.1"); err == nil || err.Error() != "libabsent.so.1 not found" {
					t.Errorf("absent: %v", err)
					return
				}
				prefix := broken + " does not load: "
				_, err := Open("libabsent.so.1", broken)
				if err == nil || !strings.HasPrefix(err.Error(), prefix) || len(err.Error()) == len(prefix) || strings.Contains(err.Error(), "libabsent") {
					t.Errorf("broken: %v", err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// A named pipe in the place of a library would keep the dynamic linker waiting for ever.
func TestAPipeIsNoLibrary(t *testing.T) {
	folder, special := t.TempDir(), t.TempDir()
	pipe := filepath.Join(folder, "libpiped.so.1")
	deep := filepath.Join(special, "glibc-hwcaps", "x86-64-v3", "libpiped.so.1")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.MkdirAll(filepath.Dir(deep), 0o700), syscall.Mkfifo(deep, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ searched, name, found string }{
		{folder, "libpiped.so.1", pipe}, {"/no/such;" + folder, "libpiped.so.1", pipe}, {special, "libpiped.so.1", deep}, {"", pipe, pipe},
	} {
		t.Setenv("LD_LIBRARY_PATH", c.searched)
		opened := make(chan error, 1)
		go func() {
			_, err := Open(c.name)
			opened <- err
		}()
		var err error
		select {
		case err = <-opened:
		case <-time.After(time.Minute):
			t.Fatalf("%s: still waits", c.name)
		}
		if want := c.found + " is not a regular file: must be a shared library"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", c.name, err, want)
		}
	}
}
