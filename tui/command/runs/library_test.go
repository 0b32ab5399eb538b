package runs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/recording"
	table "prismtop/tui/runs"
)

// The table is told what the folder holds when it is shown, once more when it is shown again, and what
// comes and goes meanwhile.
func TestWatchingTheLibrary(t *testing.T) {
	folder := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("something else"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, second := write("2026-01-02T03-04-05-a.sqlite"), write("2026-01-03T03-04-05-b.sqlite")
	write("other.txt")
	l := newLibrary(folder, nil)
	ctx, stop := context.WithCancel(t.Context())
	updates := l.Watch(ctx)
	u := <-updates
	if !u.All || len(u.Runs) != 2 || u.Files != 2 || u.Read != 2 || u.Runs[0].Path != second {
		t.Errorf("the first update is %+v", u)
	}
	if r := u.Runs[0]; r.State != table.Unread || r.File != "2026-01-03T03-04-05-b" || r.Err != "is not a recording of prismtop" {
		t.Errorf("a file of text is shown as %+v", r)
	}
	third := write("2026-01-04T03-04-05-c.sqlite")
	l.wake()
	if u = <-updates; u.All || len(u.Runs) != 1 || u.Runs[0].Path != third || u.Files != 3 {
		t.Errorf("after a file came, the update is %+v", u)
	}
	if err := l.Delete(ctx, first); err != nil {
		t.Fatal(err)
	}
	if err := l.Delete(ctx, first); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), folder) {
		t.Errorf("deleted again: %v", err)
	}
	if u = <-updates; len(u.Runs) != 0 || !slices.Equal(u.Gone, []string{first}) {
		t.Errorf("after one was deleted, the update is %+v", u)
	}
	stop()
	for range updates { // until it has ended
	}
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	if u = <-l.Watch(ctx); !u.All || len(u.Runs) != 2 {
		t.Errorf("shown again, the first update is %+v", u)
	}
}

// A folder without recordings, or that is not there, is known to be empty.
func TestAnEmptyLibrary(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	u := <-newLibrary(filepath.Join(t.TempDir(), "none"), nil).Watch(ctx)
	if !u.All || len(u.Runs) > 0 || u.Files > 0 || u.Err != nil {
		t.Errorf("the first update is %+v", u)
	}
}

// Every file of an export that is there is reported before it is replaced.
func TestTakenNames(t *testing.T) {
	t.Chdir(t.TempDir())
	l := newLibrary("", nil)
	if taken, err := l.Taken("csv", "a.csv"); err != nil || len(taken) > 0 {
		t.Errorf("taken are %v (%v)", taken, err)
	}
	if err := os.WriteFile("a.changes.csv", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if taken, err := l.Taken("csv", "a.csv"); err != nil || !slices.Equal(taken, []string{"a.changes.csv"}) {
		t.Errorf("taken are %v (%v)", taken, err)
	}
	if _, err := l.Taken("chrome", "-"); err == nil {
		t.Error("standard output is a file")
	}
}

// The columns of the list hold whatever the widths of its texts.
func TestTheListIsAligned(t *testing.T) {
	lines := aligned([][]string{{"run", "preset", "state"}, {"月光", "x", "a"}, {"a name that is long", "–", "b"}})
	for i, want := range []string{"run                  preset  state", "月光                 x       a", "a name that is long  –       b"} {
		if strings.TrimRight(lines[i], " ") != want {
			t.Errorf("%q, want %q", lines[i], want)
		}
	}
}

// A narrow terminal does without columns, but not without the names and the states.
func TestTheListFitsATerminal(t *testing.T) {
	table := [][]string{
		{"run", "preset", "picture", "length", "iterations", "ms", "quality", "size", "state"},
		{"2026-11-22T17-26-28-moon-3", "quick", "moon", "00:00:00", "180", "0.7229", "PSNR 22.87 dB", "81.9 KB", "finished"},
	}
	for _, tt := range []struct {
		columns int
		want    string
	}{
		{120, "run preset picture length iterations ms quality size state"},
		{80, "run preset length ms quality state"},
		{64, "run ms quality state"},
		{20, "run state"},
	} {
		if got := strings.Join(narrowed(table, tt.columns)[0], " "); got != tt.want {
			t.Errorf("%d columns: %s, want %s", tt.columns, got, tt.want)
		}
	}
}

// A run that has ended is listed so while its recording grows behind its screen.
func TestTheStateOfARow(t *testing.T) {
	for _, c := range []struct {
		state recording.RecordedState
		run   string
		want  string
	}{
		{recording.Growing, "running", "running"}, {recording.Growing, "paused", "running"}, {recording.Growing, "finished", "finished"},
		{recording.Ended, "stopped", "stopped"}, {recording.Killed, "running", "killed"}, {recording.CutShort, "finished", "cut short"},
	} {
		l := recording.Listed{Path: "x.sqlite", Status: recording.Status{State: c.state, RunState: c.run}}
		row := rowOf(&l)
		var text strings.Builder
		if err := writeRuns(&text, "runs", []recording.Listed{l}); err != nil || row.StateText() != c.want || !strings.Contains(text.String(), c.want+"\n") {
			t.Errorf("%v, %s: %q, listed as\n%s(%v), want %q", c.state, c.run, row.StateText(), text.String(), err, c.want)
		}
	}
}

// The quality that a loop names has its name and unit, too, though its workload has no series before it runs.
func TestTheQualityOfALoopHasItsUnit(t *testing.T) {
	l := &recording.Listed{}
	l.Workload, l.Quality, l.QualityIs = "python", 22, "psnr_db"
	if got := qualityOf(l); got != "PSNR 22.0 dB" {
		t.Errorf("it is %q", got)
	}
}

// Qualities of a unit have the same decimals, so that a column of them can be compared.
func TestQualitiesAreAligned(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		of   string
		want string
	}{{27, "dB", "27.0 dB"}, {8.2474, "dB", "8.2 dB"}, {0.9776, "", "0.9776"}, {0.98, "", "0.9800"}, {12.345678, "%", "12.35 %"}} {
		if got := decimals(tt.v, tt.of); got != tt.want {
			t.Errorf("%g %s is %q, want %q", tt.v, tt.of, got, tt.want)
		}
	}
}
