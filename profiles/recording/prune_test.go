package recording

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// runsFolder is a folder of recordings: copies of one, named as by NewPath.
type runsFolder struct {
	*testing.T
	path, tiny string
	size       int64 // of tiny
}

func newRunsFolder(t *testing.T) *runsFolder {
	f := &runsFolder{T: t, path: t.TempDir(), tiny: recordedRun(t, 100)}
	f.forget("file") // its copies stand for runs of their own
	f.size = f.sizeOf(f.tiny)
	return f
}

// forget deletes a fact from the recording that is copied.
func (f *runsFolder) forget(key string) {
	f.Helper()
	db, err := connect(f.tiny, nil)
	if err == nil {
		_, err = db.Exec("DELETE FROM recording WHERE key = ?", key)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		f.Fatal(err)
	}
}

// at returns the path of the recording that began n minutes after the first.
func (f *runsFolder) at(n int) string {
	return filepath.Join(f.path, time.Date(2026, 1, 2, 3, n, 4, 0, time.UTC).Format("2006-01-02T15-04-05")+"-moon"+extension)
}

func (f *runsFolder) sizeOf(path string) int64 {
	f.Helper()
	info, err := os.Stat(path)
	if err != nil {
		f.Fatal(err)
	}
	return info.Size()
}

// copied makes a copy of its own, which can be changed; linked one without bytes of its own.
func (f *runsFolder) copied(n int) string {
	f.Helper()
	data, err := os.ReadFile(f.tiny)
	if err != nil {
		f.Fatal(err)
	}
	return f.file(filepath.Base(f.at(n)), data)
}

func (f *runsFolder) linked(n int) string {
	f.Helper()
	if err := os.Link(f.tiny, f.at(n)); err != nil {
		f.Fatal(err)
	}
	return f.at(n)
}

func (f *runsFolder) file(name string, data []byte) string {
	f.Helper()
	path := filepath.Join(f.path, name)
	_ = os.Remove(path) // it may be a link
	if err := os.WriteFile(path, data, 0o600); err != nil {
		f.Fatal(err)
	}
	return path
}

// damaged makes a large copy that cannot be read as a recording.
func (f *runsFolder) damaged(n int) string {
	f.Helper()
	path := f.copied(n)
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	clear(data[headerBytes:8000])
	return f.file(filepath.Base(path), append(data, make([]byte, 20*f.size)...))
}

// recording starts a process that records, and returns once it has recorded something.
func (f *runsFolder) recording(n int) (path string, process *exec.Cmd) {
	f.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+f.at(n))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	if !bufio.NewScanner(out).Scan() {
		f.Fatal("nothing is recorded")
	}
	return f.at(n), cmd
}

// prune prunes the folder and returns the paths of the deleted recordings.
func (f *runsFolder) prune(ctx context.Context, own string, limit int64) (p Pruned, paths []string) {
	f.Helper()
	p, err := Prune(ctx, f.path, own, limit)
	if err != nil {
		f.Fatal(err)
	}
	for _, d := range p.Deleted {
		paths = append(paths, d.Path)
	}
	return p, paths
}

func (f *runsFolder) there(paths ...string) {
	f.Helper()
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			f.Error(err)
		}
	}
}

// Files that may not be deleted do not count, however large they are and wherever they stand among the others.
func TestPruningCountsOnlyWhatMayBeDeleted(t *testing.T) {
	f := newRunsFolder(t)
	var runs []string
	for i := range 6 {
		runs = append(runs, f.linked(10*i+1))
	}
	killed, process := f.recording(70)
	growing, _ := f.recording(80)
	if _, _ = process.Process.Kill(), process.Wait(); f.sizeOf(killed+"-wal") == 0 {
		t.Fatal("nothing was written")
	}
	own := f.copied(99)
	stay := []string{own, growing, f.damaged(0), f.damaged(25), f.damaged(90), f.file("other.sqlite", make([]byte, 30*f.size)),
		f.file(filepath.Base(f.at(55)), make([]byte, 30*f.size)), f.file(filepath.Base(f.at(56)), nil)}

	all := 6*f.size + f.sizeOf(killed) + f.sizeOf(killed+"-wal") + f.sizeOf(killed+reserveEnding) + f.sizeOf(killed+"-shm")
	p, deleted := f.prune(t.Context(), own, all)
	if len(deleted) > 0 || p.Late {
		t.Errorf("below the limit: deleted %v, late %v", deleted, p.Late)
	}
	if least := 90 * f.size; p.Kept < least {
		t.Errorf("%d bytes may not be deleted, want at least %d", p.Kept, least)
	}
	_, deleted = f.prune(t.Context(), own, all-2*f.size)
	if !slices.Equal(deleted, runs[:2]) {
		t.Errorf("two too many: deleted %v, want %v", deleted, runs[:2])
	}
	p, deleted = f.prune(t.Context(), own, 1)
	if want := append(slices.Clone(runs[2:]), killed); !slices.Equal(deleted, want) || p.Bytes() != all-2*f.size {
		t.Errorf("all: deleted %v (%d bytes), want %v (%d bytes)", deleted, p.Bytes(), want, all-2*f.size)
	}
	f.there(stay...)
	if p, deleted = f.prune(t.Context(), own, 0); len(deleted) > 0 || p.Kept > 0 {
		t.Errorf("without a limit: %+v", p)
	}
}

// Recordings with a name or a note are deleted after all others.
func TestPruningTakesNamedRecordingsLast(t *testing.T) {
	f := newRunsFolder(t)
	for i := range 5 {
		f.copied(i)
	}
	for n, key := range map[int]string{0: "name", 2: "note"} {
		if err := Describe(t.Context(), f.at(n), key, "the good one"); err != nil {
			t.Fatal(err)
		}
	}
	if _, deleted := f.prune(t.Context(), "", 2*f.size); !slices.Equal(deleted, []string{f.at(1), f.at(3), f.at(4)}) {
		t.Errorf("deleted %v", deleted)
	}
	if _, deleted := f.prune(t.Context(), "", f.size); !slices.Equal(deleted, []string{f.at(0)}) {
		t.Errorf("then %v", deleted)
	}
}

// A copy that somebody made is not deleted, whatever its name.
func TestPruningKeepsCopies(t *testing.T) {
	f := newRunsFolder(t)
	own := filepath.Join(f.path, "2026-01-02T03-09-09-moon.sqlite")
	r := begin(New(Options{Path: own}))
	r.tick(100)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	copied := f.file("2026-01-02T03-09-09-moon-backup.sqlite", data)
	other := f.copied(0)
	if _, deleted := f.prune(t.Context(), "", 1); !slices.Equal(deleted, []string{other, own}) {
		t.Errorf("deleted %v, want %v and the run's", deleted, other)
	}
	f.there(copied)
}

// Of recordings that began in one second, those that began first are deleted first.
func TestPruningOrdersRecordingsOfOneSecond(t *testing.T) {
	f := newRunsFolder(t)
	var paths []string
	for range 11 {
		path, err := NewPath(f.path, "moon", time.Date(2026, 1, 2, 3, 0, 4, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(f.tiny)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, f.file(filepath.Base(path), data))
	}
	if _, deleted := f.prune(t.Context(), "", f.size); !slices.Equal(deleted, paths[:10]) {
		t.Errorf("deleted %v, want %v", deleted, paths[:10])
	}
}

// countdown is a context that ends after it was asked so often, by whichever goroutine.
type countdown struct {
	context.Context
	left atomic.Int64
}

func countingDown(ctx context.Context, left int) *countdown {
	c := &countdown{Context: ctx}
	c.left.Store(int64(left))
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// In a folder of any size, the oldest recordings are deleted as far as the time lasts, and the next run goes on.
func TestPruningALargeFolderKeepsWhatItAchieved(t *testing.T) {
	const kept = 5
	count := 10_000
	if testing.Short() {
		count = 200
	}
	f := newRunsFolder(t)
	var paths []string
	for i := range count {
		paths = append(paths, f.linked(i))
	}
	growing, _ := f.recording(count + 1)
	damaged := f.damaged(count / 2)
	paths = slices.Delete(paths, count/2, count/2+1)
	var all []string
	for asked := 1000; ; asked *= 4 {
		p, deleted := f.prune(countingDown(t.Context(), asked), paths[len(paths)-1], kept*f.size)
		all = append(all, deleted...)
		if !slices.Equal(all, paths[:len(all)]) {
			t.Fatalf("the oldest were not deleted first: %v", deleted)
		}
		if p.Late && len(deleted) == 0 {
			t.Errorf("nothing was deleted while the context was asked %d times", asked)
		}
		if !p.Late {
			break
		}
	}
	if want := len(paths) - 1 - kept; len(all) != want {
		t.Errorf("%d were deleted, want %d", len(all), want)
	}
	f.there(growing, damaged, paths[len(paths)-1])
}
