package recording

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"prismtop/sim/prism"
)

// forceful records random iterations, which hardly compress, until the recording stops.
func (t *taped) forceful() {
	for {
		for range 100 {
			t.it.Total, t.it.Phases[0] = rand.Int64N(1e12), rand.Int64N(1e12)
			t.it.Series[prism.SeriesLossNew] = rand.Float64()
			t.iterate()
		}
		t.tick(0)
		t.flushed()
		select {
		case <-t.done:
			return
		default:
		}
	}
}

// The limit is that of the file, without SQLite's log of what it will take anyway.
func TestTheLimitIsThatOfTheFile(t *testing.T) {
	const limit = 1 << 20
	path := filepath.Join(t.TempDir(), "limit")
	r := begin(New(Options{Path: path, Limit: limit, Every: time.Millisecond}))
	r.forceful()
	if err := r.Close(t.Context()); !errors.Is(err, errLimit) {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() < limit*3/4 || info.Size() > limit*9/8 {
		t.Errorf("it takes %d bytes of %d (%v)", info.Size(), limit, err)
	}
}

// A file that is deleted or moved under the run ends its recording; one that was moved is whole.
func TestAFileThatIsDeletedOrMovedIsNoticed(t *testing.T) {
	for _, moved := range []bool{false, true} {
		folder, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "moved")
		path := filepath.Join(folder, "run")
		var seen reported
		r := begin(New(Options{Path: path, Report: seen.add, Every: time.Millisecond}))
		r.tick(100)
		for s, err := statusOf(t.Context(), path); err != nil || s.Iterations == 0; s, err = statusOf(t.Context(), path) {
			if t.Context().Err() != nil {
				t.Fatal(err)
			}
		}
		err := os.Rename(path, elsewhere)
		if !moved {
			err = errors.Join(err, os.Remove(elsewhere))
		}
		if err != nil {
			t.Fatal(err)
		}
		<-r.done
		if err := r.Close(t.Context()); !errors.Is(err, errGone) || seen.last().Err != err.Error() {
			t.Errorf("%v, reported as %q", err, seen.last().Err)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("left: %v (%v)", left, err)
		}
		if !moved {
			continue
		}
		if indices, _ := read(t, elsewhere); len(indices) != 100 {
			t.Errorf("%d iterations in the file that was moved", len(indices))
		}
		if s, err := statusOf(t.Context(), elsewhere); err != nil || s.State != CutShort || s.Stopped != errGone.Error() {
			t.Errorf("it is %v: %q (%v)", s.State, s.Stopped, err)
		}
	}
}
