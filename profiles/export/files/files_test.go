package files

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/export/exporttest"
	"prismtop/profiles/stream"
)

// targets parses targets in a folder, which is written @.
func targets(t *testing.T, folder string, texts ...string) (all []Target) {
	t.Helper()
	for _, text := range texts {
		target, err := Parse(strings.ReplaceAll(text, "@", folder))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, target)
	}
	return all
}

// names lists the files in a folder and those below it; numbers and hidden names are left out.
func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	variable := regexp.MustCompile(`[0-9]+`)
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && path != folder {
			name, _ := filepath.Rel(folder, path)
			all = append(all, variable.ReplaceAllString(name, "N"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// followed writes the run of exporttest to the targets through a stream, as a live run does.
func followed(t *testing.T, x *Exports) (told []string) {
	t.Helper()
	s := stream.New(1 << 10)
	reader := s.Follow()
	for _, e := range exporttest.Events() {
		s.Put(e)
	}
	ctx, end := context.WithCancel(context.Background())
	end() // what is there is taken nevertheless
	seen := 0
	snapshot := &profiles.Snapshot{Alerts: exporttest.Alerts()}
	x.Follow(ctx, reader, func() *profiles.Snapshot { return snapshot }, func(line string) { told = append(told, line) },
		func(*profiles.Event) { seen++ })
	if seen < exporttest.Starts*exporttest.Iterations {
		t.Errorf("%d events were passed on", seen)
	}
	return told
}

func TestEveryFormatIsThereAtTheEnd(t *testing.T) {
	folder := t.TempDir()
	all := targets(t, folder, "chrome=@/run.json", "chrome=@/run.json.gz", "csv=@/run.csv", "tensorboard=@/logs", "pprof=@/run.pprof",
		"png=@/run.png", "svg=@/run.svg", "md=@/run.md", "html=@/run.html")
	x, err := Open(all, export.Source{Version: "1.2"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names(t, folder) {
		if !strings.HasPrefix(filepath.Base(name), ".") && !strings.HasPrefix(name, "logs") {
			t.Errorf("%s is there before the end", name)
		}
	}
	if told := followed(t, x); told != nil {
		t.Errorf("told %q", told)
	}
	paths, err := x.Close(0)
	if err != nil {
		t.Fatal(err)
	}
	x.Discard() // nothing is left to discard
	want := []string{"logs", "logs/events.out.tfevents.N.prismtop.N", "run.changes.csv", "run.csv", "run.html", "run.json", "run.json.gz", "run.md", "run.png", "run.pprof", "run.svg"}
	if got := names(t, folder); !slices.Equal(got, want) || len(paths) != len(want)-1 {
		t.Errorf("the folder holds %q, want %q; the paths are %q", got, want, paths)
	}
	for _, made := range all {
		if made.Format() == "tensorboard" {
			continue // its files have the time in their names, and none is replaced
		}
		if err := made.Replaceable(); err != nil {
			t.Errorf("its own file: %v", err)
		}
	}
	plain, err := os.ReadFile(filepath.Join(folder, "run.json"))
	if err != nil || !json.Valid(plain) || !strings.Contains(string(plain), `"not-finite"`) {
		t.Errorf("the trace has no alert or is not valid (%v)", err)
	}
	f, err := os.Open(filepath.Join(folder, "run.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(zip); err != nil || string(text) != string(plain) {
		t.Errorf("the compressed trace has %d bytes, the plain one %d (%v)", len(text), len(plain), err)
	}
}

// asked is a source that is asked for pictures.
type asked struct {
	drained, wanted func()
}

func (a asked) Drain(func(*profiles.Event)) bool { a.drained(); return false }
func (asked) Dropped() int64                     { return 0 }
func (a asked) WantPicture()                     { a.wanted() }

// A format with pictures asks for them, which nobody else does without a screen; others do not.
func TestPicturesAreAskedFor(t *testing.T) {
	for format, want := range map[string]bool{"html": true, "md": false, "svg": false} {
		x, err := Open(targets(t, t.TempDir(), "csv=@/run.csv", format+"=@/run"), export.Source{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(context.Background())
		pictures, looks := 0, 0
		x.Follow(ctx, asked{drained: func() {
			if looks++; looks == 3 {
				end()
			}
		}, wanted: func() { pictures++ }}, func() *profiles.Snapshot { return nil }, func(string) {})
		if (pictures > 0) != want || pictures >= looks {
			t.Errorf("%s: asked for %d pictures in %d looks", format, pictures, looks)
		}
		x.Discard()
	}
}

func TestDiscardLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	x, err := Open(targets(t, folder, "chrome=@/run.json", "csv=@/run.csv", "tensorboard=@/logs"), export.Source{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	followed(t, x)
	if x.Discard(); names(t, folder) != nil {
		t.Errorf("the folder holds %q", names(t, folder))
	}
}

// What the disk refuses is given up, is told once, and is an error at the end; the other files
// are complete.
func TestALiveFormatIsReadDuringTheRun(t *testing.T) {
	folder := t.TempDir()
	x, err := Open(targets(t, folder, "tensorboard=@/logs"), export.Source{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := stream.New(1 << 10)
	reader := s.Follow()
	for _, e := range exporttest.Events() {
		s.Put(e)
	}
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	size := func() (n int64) {
		found, _ := filepath.Glob(filepath.Join(folder, "logs", "events.*"))
		for _, path := range found {
			if info, err := os.Stat(path); err == nil {
				n += info.Size()
			}
		}
		return n
	}
	during := int64(0)
	x.Follow(ctx, reader, func() *profiles.Snapshot {
		if during = size(); during > 0 {
			end()
		}
		return nil
	}, func(string) {})
	if during == 0 {
		t.Error("nothing is there during the run")
	}
	if x.Discard(); size() < during {
		t.Error("what others may have read was removed")
	}
}

// A live format of which nothing could be written leaves no file.
func TestAnEmptyLiveFileIsRemoved(t *testing.T) {
	folder := t.TempDir()
	x, err := Open(targets(t, folder, "tensorboard=@/logs"), export.Source{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.all[0].drafts[0].(*live).Close(); err != nil { // writes fail from now on
		t.Fatal(err)
	}
	for _, e := range exporttest.Events() {
		x.Take(&e)
	}
	x.flush()
	if paths, err := x.Close(0); err == nil || len(paths) > 0 {
		t.Errorf("%q, %v", paths, err)
	}
	x.Discard()
	if got := names(t, folder); len(got) > 0 {
		t.Errorf("the folder holds %q", got)
	}
}

func TestARefusedFileDoesNotStopTheOthers(t *testing.T) {
	folder := t.TempDir()
	x, err := Open(targets(t, folder, "chrome=@/bad.json", "csv=@/run.csv"), export.Source{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.all[0].drafts[0].Discard() // writes fail from now on
	for range 100 {              // more than a buffer
		for _, e := range exporttest.Events() {
			x.Take(&e)
		}
	}
	told := followed(t, x)
	if len(told) != 1 || !strings.HasPrefix(told[0], "export chrome: write "+filepath.Join(folder, "bad.json")+": ") {
		t.Errorf("told %q", told)
	}
	paths, err := x.Close(0)
	if err == nil || !strings.Contains(err.Error(), "bad.json") || strings.Contains(err.Error(), "run.csv") || len(paths) != 2 {
		t.Errorf("%v; the paths are %q", err, paths)
	}
	if got := names(t, folder); !slices.Equal(got, []string{"run.changes.csv", "run.csv"}) {
		t.Errorf("the folder holds %q", got)
	}
}

func TestLossesAreAnError(t *testing.T) {
	folder := t.TempDir()
	x, err := Open(targets(t, folder, "pprof=@/run.pprof"), export.Source{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if paths, err := x.Close(7); err == nil || !strings.Contains(err.Error(), "7 events are missing in "+paths[0]) {
		t.Errorf("%v", err)
	}
}

func TestBadTargets(t *testing.T) {
	for text, want := range map[string]string{
		"": "FORMAT=PATH", "chrome": "FORMAT=PATH", "chrome=": "FORMAT=PATH", "pdf=a": "chrome, csv, tensorboard, pprof, png, svg, md, html or sqlite", "=a": "unknown format",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"`+text+`"`) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"chrome=@/none/a"}, "no such file"},
		{[]string{"csv=@"}, "is a folder"},
		{[]string{"tensorboard=@/file"}, "not a directory"},
		{[]string{"tensorboard=@/none/logs"}, "no such file"},
		{[]string{"chrome=@/a", "pprof=@/./a"}, "is written by"},
		{[]string{"tensorboard=@/logs", "csv=@/a.csv", "chrome=@/a.changes.csv"}, "is written by"},
	} {
		_, err := Open(targets(t, folder, c.texts...), export.Source{}, nil)
		last := strings.ReplaceAll(c.texts[len(c.texts)-1], "@", folder)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), last) {
			t.Errorf("%q: %v, want %s", c.texts, err, c.want)
		}
		if got := names(t, folder); !slices.Equal(got, []string{"file"}) {
			t.Errorf("%q leaves %q", c.texts, got)
		}
	}
}
