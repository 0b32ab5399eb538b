package recording

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"prismtop/profiles/settings"
	"prismtop/sim/prism"
)

// A reader of the copies in a shared folder sees each of them whole, and its end once the task says so.
func TestCopiesOfAnotherMachineAreFollowed(t *testing.T) {
	here, shared := filepath.Join(t.TempDir(), "run.sqlite"), filepath.Join(t.TempDir(), "run.sqlite")
	run := begin(New(Options{Path: here}))
	copied := func(iterations int) {
		t.Helper()
		run.tick(iterations)
		run.Flush(t.Context())
		if err := Copy(t.Context(), here, shared); err != nil {
			t.Fatal(err)
		}
	}
	copied(100)
	runs := true
	f, err := Follow(t.Context(), shared, func() bool { return runs }, func(string) *settings.Table { return prism.Table })
	if err != nil {
		t.Fatal(err)
	}
	expect := func(state RecordedState, iterations int64) {
		t.Helper()
		if err := f.look(t.Context()); err != nil {
			t.Error(err)
		}
		f.growing.Store(runs)
		s, err := f.Status(t.Context())
		if err != nil || s.State != state || s.Iterations != iterations {
			t.Errorf("it is %s after %d iterations, %v; want %s after %d", s.State, s.Iterations, err, state, iterations)
		}
		stretches, err := f.Stretches(t.Context(), 0)
		read, cursor := int64(0), f.Cursor()
		for _, s := range stretches {
			moments, failed := cursor.Read(t.Context(), s)
			if failed != nil {
				err = failed
			}
			for i := range moments {
				read += int64(moments[i].Iterations())
			}
		}
		if err != nil || read != iterations {
			t.Errorf("%d of %d iterations can be read, %v", read, iterations, err)
		}
	}
	expect(Growing, 100)
	for n := int64(1); n <= 30; n++ { // blocks are joined meanwhile
		copied(200)
		expect(Growing, 100+200*n)
	}
	expect(Growing, 6100) // nothing new
	if err := os.WriteFile(shared, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.look(t.Context()) == nil {
		t.Error("another file was taken for a recording")
	}
	copied(0)
	if err := run.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := Copy(t.Context(), here, shared); err != nil {
		t.Fatal(err)
	}
	runs = false
	expect(Ended, 6100)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.folder); err == nil {
		t.Error("the copy on this machine is left behind")
	}
	if _, err := Follow(t.Context(), filepath.Join(t.TempDir(), "none"), func() bool { return true }, nil); err == nil {
		t.Error("a file that is missing was followed")
	}
}
