package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/recording"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// A run is exported while it is recorded by the same process, whose recording goes on, and likewise
// from its recording.
func TestARunIsExportedWhileItIsRecorded(t *testing.T) {
	t.Chdir(t.TempDir())
	path := filepath.Join(t.TempDir(), "moon.sqlite")
	r := recording.New(recording.Options{Path: path})
	it := prismtest.Progressive()
	v := (&prism.Settings{AMP: "off", Object: "moon"}).Values().Settled()
	snap := profiles.Snapshot{Run: prismtest.Info(4), Settings: v, State: profiles.Running}
	r.Event(&profiles.Event{At: time.Now(), Body: &profiles.Begin{Info: snap.Run, Settings: v}})
	iterate := func(n int) {
		for range n {
			r.Event(&profiles.Event{Body: &it})
			it.Index++
		}
		s := snap
		s.Index = it.Index
		r.Tick(time.Now(), &s)
	}
	iterate(100)
	live := exportsRecorded(r)
	paths, err := live.Export("csv")
	if err != nil {
		t.Fatal(err)
	}
	if rows := rowsOf(t, paths[0]); rows != 101 || paths[0] != "moon.csv" {
		t.Errorf("%v has %d rows", paths, rows)
	}
	iterate(100)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	live.end()
	if _, err := live.Export("csv"); err == nil {
		t.Error("an export began after the end")
	}
	replayed := exportsReplayed(path)
	defer replayed.end()
	again, err := replayed.Export("csv")
	if err != nil || again[0] != "moon-2.csv" || rowsOf(t, again[0]) != 201 {
		t.Errorf("%v (%v)", again, err)
	}
	if _, err := exportsRecorded(nil).Export("csv"); err == nil || !strings.Contains(err.Error(), "is not recorded") {
		t.Errorf("a run without a recording: %v", err)
	}
}

// rowsOf returns the number of lines of a file.
func rowsOf(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}
