package recording

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A watcher delivers every file once, the newest first, then only what changed, and what is gone.
func TestWatchingAFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "runs")
	w := NewWatcher(folder)
	look := func() (took []string, gone []string) {
		t.Helper()
		gone, err := w.Look(t.Context(), func(l Listed, files, known int) {
			if known > files {
				t.Errorf("%d of %d files are known", known, files)
			}
			took = append(took, filepath.Base(l.Path))
		})
		if err != nil {
			t.Fatal(err)
		}
		return took, gone
	}
	if took, gone := look(); len(took)+len(gone) > 0 {
		t.Errorf("a folder that does not exist has %v and lost %v", took, gone)
	}
	var paths []string
	for i := range 3 {
		path, err := NewPath(folder, fmt.Sprint(i), time.Date(2026, 1, 2+i, 3, 4, 5, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		r := begin(New(Options{Path: path, Reserved: true}))
		r.tick(100)
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	name := func(i int) string { return filepath.Base(paths[i]) }
	if took, _ := look(); !slices.Equal(took, []string{name(2), name(1), name(0)}) {
		t.Errorf("found %v", took)
	}
	if took, gone := look(); len(took)+len(gone) > 0 {
		t.Errorf("nothing changed, and it found %v and lost %v", took, gone)
	}
	if err := Describe(t.Context(), paths[1], "name", "the good one"); err != nil {
		t.Fatal(err)
	}
	if took, _ := look(); !slices.Equal(took, []string{name(1)}) || w.Known()[1].Name != "the good one" {
		t.Errorf("after one was named, it found %v", took)
	}
	if err := os.WriteFile(paths[0], []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if took, _ := look(); !slices.Equal(took, []string{name(0)}) {
		t.Errorf("after one was overwritten, it found %v", took)
	}
	if i := slices.IndexFunc(w.Known(), func(l Listed) bool { return l.Path == paths[0] }); i < 0 || w.Known()[i].Err == nil {
		t.Error("a file of text is taken for a recording")
	}
	if err := Delete(paths[2]); err != nil {
		t.Fatal(err)
	}
	if took, gone := look(); len(took) > 0 || !slices.Equal(gone, paths[2:]) || len(w.Known()) != 2 {
		t.Errorf("after one was deleted, it found %v and lost %v", took, gone)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := NewWatcher(folder).Look(ended, func(Listed, int, int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted look ended with %v", err)
	}
}

// What is or was a recording of the user's folder may be deleted, damaged or not; nothing else, and no
// recording that grows.
func TestWhatMayBeDeleted(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	folder, err := Folder()
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	good := recordedRun(t, 3000)
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	unformatted, err := os.ReadFile(formatted(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	write := func(folder, name string, data []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const ours = "2026-01-02T03-04-05-moon.sqlite"
	growing := filepath.Join(t.TempDir(), "growing.sqlite")
	r := begin(New(Options{Path: growing}))
	r.tick(100)
	defer r.Close(context.Background())
	for status, err := statusOf(t.Context(), growing); err != nil || status.Iterations == 0; status, err = statusOf(t.Context(), growing) {
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	logged := write(folder, "2026-01-02T03-04-06.sqlite", data[:8192])
	write(folder, "2026-01-02T03-04-06.sqlite-wal", nil)
	link := filepath.Join(folder, "2026-01-02T03-04-07.sqlite")
	if err := os.Symlink(write(outside, "linked.sqlite", data[:8192]), link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		about, path   string
		damaged, kept bool
		err           error // in the refusal; nil for any
	}{
		{"whole", good, false, false, nil},
		{"truncated, in the folder", write(folder, ours, data[:8192]), true, false, nil},
		{"of format 0, in the folder", write(folder, "2026-01-02T03-04-09.sqlite", unformatted), true, false, nil},
		{"reserved and left empty", write(folder, "2026-01-02T03-04-05.sqlite", nil), true, false, nil},
		{"text under such a name", write(folder, "2026-01-02T03-04-08.sqlite", []byte("some words of text")), false, true, errForeign},
		{"truncated, under another name", write(folder, "mine.sqlite", data[:8192]), false, true, nil},
		{"truncated, elsewhere", write(outside, ours, data[:8192]), false, true, nil},
		{"unreadable, with a fresh log", logged, false, true, nil},
		{"a link", link, false, true, nil},
		{"growing", growing, false, true, ErrGoesOn},
		{"missing", filepath.Join(folder, "none.sqlite"), false, true, fs.ErrNotExist},
	} {
		damaged, err := MayDelete(t.Context(), tt.path)
		if (damaged != nil) != tt.damaged || (err != nil) != tt.kept || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("%s: damaged %v, kept %v", tt.about, damaged, err)
		}
	}
}

// Only what prismtop's mark, or a name for want of one, shows to have been a recording may be deleted by force.
func TestDamagedRecordingsAreToldFromOtherFiles(t *testing.T) {
	folder := t.TempDir()
	data, err := os.ReadFile(recordedRun(t, 300))
	if err != nil {
		t.Fatal(err)
	}
	other := slices.Clone(data[:8192])
	copy(other[68:], "else")
	for _, tt := range []struct {
		about, name string
		data        []byte
		want        bool
	}{
		{"truncated", "a.sqlite", data[:8192], true},
		{"truncated, under another name", "a.old", data[:8192], true},
		{"truncated in its header", "b.sqlite", data[:40], true},
		{"never written", "c.sqlite", nil, true},
		{"an empty file", "c.txt", nil, false},
		{"text", "d.json", []byte(`{"a": 1}`), false},
		{"text under such a name", "d.sqlite", []byte("some words of text"), false},
		{"a damaged file of another program", "e.sqlite", other, false},
		{"the header of another kind of file", "f", data[:40], false},
	} {
		path := filepath.Join(folder, tt.name)
		if err := os.WriteFile(path, tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Marked(path); (err == nil) != tt.want || err != nil && !errors.Is(err, errForeign) {
			t.Errorf("%s: %v", tt.about, err)
		}
	}
}
