package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prismtop/profiles/atomicfile"
)

// The formats to choose from, and the names of new files.

// Kind is a format to choose from.
type Kind struct{ Name, About string }

// Kinds lists the formats, with a few words on what each is for.
func Kinds() (all []Kind) {
	for i := range formats {
		all = append(all, Kind{formats[i].name, abouts[formats[i].name]})
	}
	return all
}

// abouts says what the formats are for.
var abouts = map[string]string{
	"chrome":      "a timeline, for Perfetto and speedscope",
	"csv":         "tables of iterations and changes",
	"tensorboard": "scalars, in a folder",
	"pprof":       "where the time went, for go tool pprof",
	"png":         "a figure",
	"svg":         "a figure",
	"md":          "a report in Markdown",
	"html":        "a report to mail, with charts",
	"sqlite":      "tables for SQL",
}

// endings are the endings of new files, where they are not the name of the format.
var endings = map[string]string{"chrome": ".trace.json", "pprof": ".pb.gz", "sqlite": ".tables.sqlite"}

// Ending returns the ending of a new file of a format: ".csv".
func Ending(format string) string {
	if ending, other := endings[format]; other {
		return ending
	}
	return "." + format
}

// suffixes are the ends of the names of files of a format, where they are not its name alone.
var suffixes = map[string][]string{
	"chrome": {".json", ".json.gz", ".trace.gz"},
	"pprof":  {".pprof", ".pb.gz", ".pb", ".prof"},
	"md":     {".md", ".markdown"},
	"html":   {".html", ".htm"},
	"sqlite": {".sqlite", ".sqlite3", ".db"},
}

// Replaceable returns an error if the target is a file and must be a folder, or if a file would be replaced whose name
// does not say that it is of the format, or whose content that prismtop wrote it.
func (t Target) Replaceable() error {
	if info, err := os.Stat(t.Path); t.format.live && err == nil && !info.IsDir() {
		return fmt.Errorf("%q: %s is a file: must be a folder", t.Format()+"="+t.Path, t.Path)
	}
	own, several := suffixes[t.Format()]
	if !several {
		own = []string{"." + t.Format()}
	}
	for i, path := range t.Files() {
		mark := t.format.mark
		if i > 0 {
			mark = t.format.second
		}
		at, err := atomicfile.Target(path)
		if err != nil {
			continue // opening it says why it cannot be written
		}
		info, err := os.Lstat(at)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		why, name := "", strings.ToLower(filepath.Base(at))
		switch {
		case !slices.ContainsFunc(own, func(s string) bool { return strings.HasSuffix(name, s) }):
			why = "is no " + own[0]
		case atomicfile.Marked(at, mark):
			continue
		case i == 0 && t.format.second != nil && atomicfile.Marked(at, t.format.second):
			why = "belongs to another export"
		default:
			why = "nothing in it says that prismtop wrote it as one"
		}
		which := ""
		if path != t.Path {
			which = path + " "
		}
		return fmt.Errorf("%q: %sexists, and %s: choose another name", t.Format()+"="+t.Path, which, why)
	}
	return nil
}

// New returns the target of a format whose files are not there yet: base, with a number if its name
// is taken, and an ending.
func New(format, base string) (Target, error) { return unused(format, base, Ending(format)) }

// Beside returns the target, or where a file of it exists the first of run-2.csv, run-3.csv, … of run.csv of which none
// does. A folder, to which runs add files, and standard output stay.
func (t Target) Beside() (Target, error) {
	if t.Stdout() || t.format.live {
		return t, nil
	}
	ending := Ending(t.Format())
	if !strings.HasSuffix(t.Path, ending) {
		ending = filepath.Ext(t.Path)
	}
	return unused(t.Format(), strings.TrimSuffix(t.Path, ending), ending)
}

// unused returns a target of the first name of which no file exists.
func unused(format, base, ending string) (Target, error) {
	for n := 1; ; n++ {
		path := base + ending
		if n > 1 {
			path = fmt.Sprintf("%s-%d%s", base, n, ending)
		}
		t, err := Parse(format + "=" + path)
		if err != nil {
			return t, err
		}
		free, err := t.free()
		if err != nil || free {
			return t, err
		}
	}
}

// free reports whether nothing is at the path or at those of the files.
func (t Target) free() (bool, error) {
	for _, path := range append([]string{t.Path}, t.Files()...) {
		switch _, err := os.Lstat(path); {
		case err == nil:
			return false, nil
		case !errors.Is(err, fs.ErrNotExist):
			return false, err
		}
	}
	return true, nil
}
