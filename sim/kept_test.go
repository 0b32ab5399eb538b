package sim

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/checkpoint"
	"prismtop/sim/workloads"
)

// folderNames lists a folder as a glob does.
func folderNames(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// checkpointAt drives a run to iterations and writes a checkpoint at each.
func checkpointAt(t *testing.T, r *Run, iterations ...int64) {
	t.Helper()
	for _, i := range iterations {
		driven(t, r, i, nil)
		if err := errors.Join(r.loop.checkpoint(t.Context()), r.loop.checkpoints.wait()); err != nil {
			t.Fatal(err)
		}
	}
}

// The newest checkpoints stay, and no more of them than asked for, over resumes too. Each resumes where it was.
func TestTheNewestCheckpointsStay(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "run.npz")
	foreign := filepath.Join(folder, "run-0000000001.npz") // of another run
	if err := os.WriteFile(foreign, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	keep := Checkpoints{Path: path, Keep: Keep{Last: 3}}
	v := configured(t, append(small, "threads=1")...)
	first := opened(t, Options{Settings: v, Checkpoints: keep})
	checkpointAt(t, first, 5, 7, 12, 13)
	if got, want := folderNames(t, folder), "run-0000000001.npz run-0000000007.npz run-0000000012.npz run.npz"; got != want {
		t.Errorf("the folder has %s, want %s", got, want)
	}
	second := opened(t, Options{Settings: v, Resume: reopened(t, path), Checkpoints: keep})
	checkpointAt(t, second, 15)
	if got, want := folderNames(t, folder), "run-0000000001.npz run-0000000012.npz run-0000000013.npz run.npz"; got != want {
		t.Errorf("the folder of the resumed run has %s, want %s", got, want)
	}
	for name, iteration := range map[string]int64{"run-0000000012.npz": 12, "run-0000000013.npz": 13, "run.npz": 15} {
		if from := reopened(t, filepath.Join(folder, name)); from.Iteration != iteration {
			t.Errorf("%s has iteration %d, want %d", name, from.Iteration, iteration)
		} else {
			driven(t, opened(t, Options{Settings: v, Resume: from}), iteration+2, nil)
		}
	}
	if text, err := os.ReadFile(foreign); string(text) != "kept" {
		t.Errorf("another run's file says %q (%v)", text, err)
	}
}

// The checkpoint of the best quality stays, over resumes too, beside the newest ones.
func TestTheBestCheckpointStays(t *testing.T) {
	folder := t.TempDir()
	path, best := filepath.Join(folder, "run.npz"), filepath.Join(folder, "run-best.npz")
	keep := Checkpoints{Path: path, Keep: Keep{Last: 2, Best: true}}
	v := configured(t, append(small, "threads=1")...)
	r := opened(t, Options{Settings: v, Checkpoints: keep})
	var highest float64
	var at int64
	for i := int64(3); i <= 40; i += 4 {
		checkpointAt(t, r, i)
		q, err := r.Quality(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if psnr := q[r.loop.view.quality]; at == 0 || psnr > highest {
			highest, at = psnr, i
		}
		if got := reopened(t, best); got.Iteration != at || got.Best == nil || float64(got.Best.Quality) != highest {
			t.Fatalf("after %d iterations the best has %d and %v, want %d with %g", i, got.Iteration, got.Best, at, highest)
		}
	}
	if got, want := folderNames(t, folder), "run-0000000035.npz run-best.npz run.npz"; got != want {
		t.Errorf("the folder has %s, want %s", got, want)
	}
	// a resumed run knows the best one of before
	from := reopened(t, path)
	from.Best.Quality = checkpoint.Number(math.Inf(1))
	checkpointAt(t, opened(t, Options{Settings: v, Resume: from, Checkpoints: keep}), 43)
	if got := reopened(t, best); got.Iteration != at {
		t.Errorf("the best checkpoint now has iteration %d, want %d", got.Iteration, at)
	}
}

// The best checkpoint is that of the file, which another run may have replaced.
func TestAResumedRunTakesNoOthersBest(t *testing.T) {
	folder := t.TempDir()
	path, best := filepath.Join(folder, "run.npz"), filepath.Join(folder, "run-best.npz")
	keep := Checkpoints{Path: path, Keep: Keep{Best: true}}
	v := configured(t, append(small, "threads=1")...)
	r := opened(t, Options{Settings: v, Checkpoints: keep})
	checkpointAt(t, r, 7)
	from := reopened(t, path)
	if f := resumedFamily(path, from); f.best == nil || f.best.Iteration != 7 {
		t.Fatalf("of the run's own, the best is %+v", f.best)
	}
	checkpointAt(t, opened(t, Options{Settings: v, Checkpoints: Checkpoints{Path: best}}), 5)
	if f := resumedFamily(path, from); f.best != nil {
		t.Errorf("of another run's, the best is %+v", f.best)
	}
}

// The newest checkpoint of a family is known from the names of the others.
func TestNewestPath(t *testing.T) {
	for path, want := range map[string]string{
		"a/run-best.npz": "a/run.npz", "run-0000000400.npz": "run.npz", "run-2-best.npz": "run-2.npz", "a-best/run.npz": "", "run-400.npz": "", "-best.npz": "", "run.npz": "", "": "",
	} {
		if got := NewestPath(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// A checkpoint may name any files: only those that have the names of its family are ever removed.
func TestACheckpointNamesNoOtherFiles(t *testing.T) {
	folder := t.TempDir()
	inner := filepath.Join(folder, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	precious := filepath.Join(folder, "run-0000000001.npz")
	for _, path := range []string{precious, filepath.Join(inner, "precious.npz")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	from := &Resumed{Path: filepath.Join(inner, "run.npz"), Checkpoint: &checkpoint.Checkpoint{Run: checkpoint.Run{
		Kept: []string{"../run-0000000001.npz", "precious.npz", "run-1.npz", "run-000000000x.npz"},
	}}}
	if f := resumedFamily(filepath.Join(inner, "run.npz"), from); len(f.kept) != 0 {
		t.Errorf("takes over %q", f.kept)
	}
}

// A restart leaves the checkpoint of the run before as it is, and begins another.
func TestARestartBeginsAnotherCheckpoint(t *testing.T) {
	folder := t.TempDir()
	path, second, third := filepath.Join(folder, "z.npz"), filepath.Join(folder, "z-2.npz"), filepath.Join(folder, "z-3.npz")
	if err := os.WriteFile(second, []byte("of another run"), 0o600); err != nil {
		t.Fatal(err)
	}
	locked := 0
	r, a := start(t, Options{
		Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(endless, "threads=1")...), Linger: true,
		Checkpoints: Checkpoints{Path: path, Lock: func(p string) error {
			if locked++; p != third {
				return errors.New("taken")
			}
			return nil
		}},
	})
	s := until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 10 })
	if s.Run.Checkpoint != path || s.Run.NextCheckpoint != third {
		t.Errorf("foretells %q, %q", s.Run.Checkpoint, s.Run.NextCheckpoint)
	}
	restart(t, r)
	said := "; its checkpoints go to " + third + ", " + path + " stays"
	until(t, a, "the restart", func(s *profiles.Snapshot) bool {
		return s.Run.PriorStarts == 1 && s.Index > 3 && slices.ContainsFunc(s.Log, func(l profiles.LogLine) bool { return strings.HasSuffix(l.Text, said) })
	})
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if c := reopened(t, path); c.Iteration <= 10 {
		t.Errorf("the checkpoint of the run before has iteration %d", c.Iteration)
	}
	r.Stop()
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the restart changed the checkpoint of the run before (%v)", err)
	}
	if written, missing := r.LastCheckpoint(); written.Path != third || missing != nil || locked != 1 {
		t.Errorf("the newest is in %q (%v), locked %d times", written.Path, missing, locked)
	}
	reopened(t, third)
}

// A run replaces no checkpoint of another one: neither a new run nor a resumed one, of which those of its own family may be.
func TestWhatARunMayNotReplace(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	keep := Keep{Last: 3, Best: true}
	seeds := map[string]string{"a.npz": "1", "b.npz": "2"}
	for name, seed := range seeds {
		v := configured(t, append(small[:len(small):len(small)], "threads=1", "seed="+seed)...)
		checkpointAt(t, opened(t, Options{Settings: v, Checkpoints: Checkpoints{Path: at(name), Keep: keep}}), 3, 5, 6)
	}
	foreign := func(path, from string, keep Keep, want string) {
		t.Helper()
		var r *Resumed
		if from != "" {
			r = reopened(t, at(from))
		}
		if want != "" {
			want = at(want)
		}
		if got, _, err := keep.Foreign(t.Context(), at(path), r); got != want || err != nil {
			t.Errorf("%s from %q: %q, want %q (%v)", path, from, got, want, err)
		}
	}
	foreign("c.npz", "", keep, "")
	foreign("a.npz", "", keep, "a.npz")
	foreign("a.npz", "a.npz", keep, "")
	foreign("a.npz", "a-best.npz", keep, "")
	foreign("a.npz", "a-0000000003.npz", keep, "")
	foreign("c.npz", "a.npz", keep, "")
	foreign("b.npz", "a.npz", Keep{}, "b.npz")
	for copied, from := range map[string]string{"copy.npz": "a.npz", "early.npz": "a-0000000003.npz"} {
		if err := copyFile(at(from), at(copied)); err != nil {
			t.Fatal(err)
		}
	}
	foreign("a.npz", "copy.npz", Keep{}, "")
	foreign("a.npz", "early.npz", Keep{}, "a.npz") // it went further
	if err := os.Rename(at("b.npz"), at("a-0000000009.npz")); err != nil {
		t.Fatal(err)
	}
	foreign("a.npz", "a.npz", keep, "a-0000000009.npz")
	foreign("b.npz", "", Keep{}, "") // keeps none beside it
	foreign("b.npz", "", Keep{Last: 2}, "b-0000000003.npz")
	foreign("b.npz", "", Keep{Best: true}, "b-best.npz")
	foreign("b.npz", "a.npz", Keep{Last: 2}, "") // they are before iteration 6
	foreign("b.npz", "a-0000000003.npz", Keep{Last: 2}, "b-0000000003.npz")
}

// A restart takes no name of which a file is there, also if only the best or an older checkpoint of another run has it.
func TestARestartTakesFreeNames(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "run.npz")
	for _, name := range []string{"run.npz", "run-2-best.npz", "run-3-0000000007.npz"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for keep, want := range map[Keep]string{{}: "run-2.npz", {Best: true}: "run-3.npz", {Last: 2}: "run-2.npz", {Last: 2, Best: true}: "run-4.npz"} {
		o := &Checkpoints{Path: path, Keep: keep}
		f := family{path: path}
		if next, told := f.next(o), f.foretold(o); next != filepath.Join(folder, want) || told != next {
			t.Errorf("%+v: %s, foretold %s, want %s", keep, next, told, want)
		}
	}
}
