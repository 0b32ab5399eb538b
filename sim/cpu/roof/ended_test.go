package roof

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"prismtop/profiles/await/awaittest"
	"prismtop/sim/cpu/vec"
)

// A measurement that is interrupted measured nothing, and keeps nothing.
func TestAnInterruptedMeasurementIsNotKept(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	k := Key{CPU: "x", Logical: 2, Version: "1", Kernels: "go", Threads: 1}
	for _, looks := range []int{0, 50} {
		o := Options{Set: vec.Go, Threads: 1, Each: time.Hour, Load: load(0)}
		r, err := s.Of(awaittest.After(looks), k, o, true)
		if r != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("ended after %d looks: %+v, %v", looks, r, err)
		}
	}
	if files, err := os.ReadDir(s.Dir); err != nil || len(files) > 0 {
		t.Errorf("left %v behind, %v", files, err)
	}
}

// Anything but a regular file is not a measurement, and is not waited for.
func TestWhatIsNoFileHoldsNoMeasurement(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	for name, put := range map[string]func(string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		k := Key{CPU: name, Kernels: "go", Threads: 1}
		if err := put(s.path(k)); err != nil {
			t.Skip(err)
		}
		done := beside(func() bool { return s.Load(t.Context(), k) == nil })
		select {
		case ok := <-done:
			if !ok {
				t.Errorf("%s: %s holds a measurement", name, filepath.Base(s.path(k)))
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: still read after 30 s", name)
		}
	}
}

// beside calls do concurrently with the test.
func beside(do func() bool) chan bool {
	done := make(chan bool, 1)
	go func() { done <- do() }()
	return done
}
