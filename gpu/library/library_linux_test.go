//go:build linux && !nogpu

package library

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
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
