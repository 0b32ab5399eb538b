package files

import (
	"errors"
	"os"
	"slices"
	"testing"

	"prismtop/profiles/atomicfile"
)

// New files take names that are free, for all files of a format.
func TestNewFilesReplaceNone(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ format, taken, want string }{
		{"chrome", "", "run.trace.json"},
		{"chrome", "run.trace.json", "run-2.trace.json"},
		{"csv", "run.changes.csv", "run-2.csv"},
		{"csv", "run-2.csv", "run-3.csv"},
		{"tensorboard", "", "run.tensorboard"},
		{"tensorboard", "run.tensorboard", "run-2.tensorboard"},
		{"pprof", "", "run.pb.gz"},
	} {
		if c.taken != "" {
			if err := os.WriteFile(c.taken, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := New(c.format, "run"); err != nil || got.Path != c.want || got.Format() != c.format {
			t.Errorf("%s beside %q: %q, want %q (%v)", c.format, c.taken, got.Path, c.want, err)
		}
	}
	if _, err := New("none", "run"); err == nil {
		t.Error("an unknown format has a file")
	}
}

// A file is replaced by one of its own format alone, as its name says.
func TestOtherFilesAreNotReplaced(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.png", "a.CSV", "a.changes.csv", "bare.changes", "notes.txt", "a.trace.json", "a.json.gz", "all.tar.gz", "a.pb.gz", "a.htm", "events"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"mine.csv": "a,b\n1,2\n", "own.csv": "start,iteration,seconds,kind\n", "mine.html": "<h1>mine</h1>", "own.html": "<!DOCTYPE html>\n" + atomicfile.Generated,
		"mine.md": "# Thesis\n\nTimed with prismtop 0.1.\n", "own.md": atomicfile.Generated + "\n\n# moon\n", "mine.svg": "<svg><title>prismtop</title></svg>",
		"mine.json": `{"traceEvents":[{"name":"prismtop run"}]}`, "mine.png": "\x89PNG, of prismtop", "mine.prof": "prismtop/sim/cpu"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("notes.txt", "linked.csv"), os.Symlink("a.CSV", "newest"), os.Mkdir("folder", 0o700)); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"csv=a.png":          `"csv=a.png": exists, and is no .csv: choose another name`,
		"png=a.png":          "",
		"csv=a.CSV":          "",
		"csv=new.txt":        "",
		"csv=mine.csv":       `"csv=mine.csv": exists, and nothing in it says that prismtop wrote it as one: choose another name`,
		"csv=own.csv":        "",
		"html=mine.html":     `"html=mine.html": exists, and nothing in it says that prismtop wrote it as one: choose another name`,
		"html=own.html":      "",
		"md=mine.md":         `"md=mine.md": exists, and nothing in it says that prismtop wrote it as one: choose another name`,
		"md=own.md":          "",
		"svg=mine.svg":       `"svg=mine.svg": exists, and nothing in it says that prismtop wrote it as one: choose another name`,
		"chrome=mine.json":   `"chrome=mine.json": exists, and nothing in it says that prismtop wrote it as one: choose another name`,
		"png=mine.png":       `"png=mine.png": exists, and nothing in it says that prismtop wrote it as one: choose another name`,
		"pprof=mine.prof":    `"pprof=mine.prof": exists, and nothing in it says that prismtop wrote it as one: choose another name`,
		"csv=-":              "",
		"csv=bare":           `"csv=bare": bare.changes exists, and is no .csv: choose another name`,
		"csv=linked.csv":     `"csv=linked.csv": exists, and is no .csv: choose another name`,
		"csv=newest":         "",
		"md=notes.txt":       `"md=notes.txt": exists, and is no .md: choose another name`,
		"html=a.htm":         "",
		"chrome=a.json.gz":   "",
		"chrome=all.tar.gz":  `"chrome=all.tar.gz": exists, and is no .json: choose another name`,
		"pprof=a.pb.gz":      "",
		"pprof=a.json.gz":    `"pprof=a.json.gz": exists, and is no .pprof: choose another name`,
		"tensorboard=folder": "",
		"md=folder":          "", // opening it says what is wrong
	} {
		parsed, err := Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := parsed.Replaceable(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	for _, k := range Kinds() {
		if made := (Target{Path: "new" + Ending(k.Name)}); k.Name != "tensorboard" {
			made.format = &formats[slices.IndexFunc(formats, func(f format) bool { return f.name == k.Name })]
			if err := os.WriteFile(made.Path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := made.Replaceable(); err != nil {
				t.Errorf("the name of a new file: %v", err)
			}
		}
	}
}

// Every format says what it is for.
func TestEveryFormatIsExplained(t *testing.T) {
	for _, k := range Kinds() {
		if k.About == "" {
			t.Errorf("%s is not explained", k.Name)
		}
	}
}
