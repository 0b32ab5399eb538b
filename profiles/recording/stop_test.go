package recording

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
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

// A program that reads the recording at its end keeps the log beside it, and fails nothing.
func TestAReaderAtTheEndKeepsOnlyTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	r := begin(New(Options{Path: path}))
	r.tick(100)
	r.flushed()
	db, err := reading(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	read, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var blocks int
	if err := read.QueryRowContext(t.Context(), "SELECT count(*) FROM blocks").Scan(&blocks); err != nil {
		t.Fatal(err)
	}
	r.tick(100)
	late, cancel := context.WithCancel(t.Context())
	go func() {
		<-r.whole
		cancel()
	}()
	if err := r.Close(late); err != nil {
		t.Errorf("the run is in the file and its log, and %v", err)
	}
	if err := r.Close(t.Context()); err != nil || !r.Logged() {
		t.Errorf("%v, and the log stays: %v", err, r.Logged())
	}
	if s, err := statusOf(t.Context(), path); err != nil || s.State != Ended || s.Iterations != 200 {
		t.Errorf("%v after %d iterations (%v)", s.State, s.Iterations, err)
	}
	if err := errors.Join(read.Rollback(), db.Close()); err != nil {
		t.Error(err)
	}
}

// The end of a recording makes no journal, which would stay if the program ended just then.
func TestTheEndMakesNoJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	r := begin(New(Options{Path: path}))
	r.tick(100)
	r.flushed()
	if err := os.Mkdir(path+"-journal", 0o700); err != nil { // in its way
		t.Fatal(err)
	}
	if err := errors.Join(r.Close(t.Context()), os.Remove(path+"-journal")); err != nil || r.Logged() {
		t.Errorf("%v, and the log stays: %v", err, r.Logged())
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v (%v)", left, err)
	}
}

// Events are written by their age when a tick or a drain comes, not by a clock of the recorder.
func TestWhatIsOldEnoughIsWrittenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	r := begin(New(Options{Path: path, Every: time.Hour}))
	defer r.Close(context.Background())
	for range 100 {
		r.iterate()
	}
	r.Tick(r.Began().Add(time.Hour-1), &r.snap)
	if len(r.due) > 0 {
		t.Error("it is due too early")
	}
	r.Drained(r.Began().Add(time.Hour)) // nothing came
	r.iterate()
	r.Drained(r.Began().Add(time.Hour))
	r.flushed()
	for s, err := statusOf(t.Context(), path); err != nil || s.Iterations == 0 && s.written == 0; s, err = statusOf(t.Context(), path) {
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// The first piece of a run does not wait for the GPU's driver, which is described when it answers.
func TestTheFirstPieceDoesNotWaitForTheGPU(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	answer := make(chan machine.GPU)
	r := begin(New(Options{Path: path, Every: time.Millisecond, GPU: func() machine.GPU { return <-answer }}))
	r.tick(100)
	r.flushed()
	answer <- machine.GPU{Driver: "580.65.06", Reason: "none"}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), path, func(string) *settings.Table { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p, err := f.Fingerprint(t.Context()); err != nil || p.GPU.Driver != "580.65.06" || p.GPU.Reason != "none" {
		t.Errorf("%+v (%v)", p.GPU, err)
	}
}
