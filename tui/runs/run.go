// Package runs is the table of recorded runs: it lists, filters, sorts and marks them, names, exports and
// deletes them, and asks for the replay of one or the comparison of several. It knows plain data only:
// whoever shows it reads the files.
package runs

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"prismtop/profiles/unit"
	"prismtop/tui/monospace"
)

// State is how far a recorded run came.
type State uint8

// The states.
const (
	Running  State = iota
	Ended          // in order; Run.End says how
	Killed         // its process ended during the run
	CutShort       // the recording stopped before the run; Run.Err says why
	Unread         // the file cannot be read; Run.Err says why
)

// Run is a recorded run, or a file that cannot be read as one.
type Run struct {
	Path  string
	File  string // its name without folder and ending
	Bytes int64
	Began time.Time // of the file if it cannot be read
	State State
	End   string // "finished", "failed"; of a run whose screen is still open, too
	Err   string // why the file cannot be read, why the recording stopped, or why the run failed

	Preset     string
	Object     string
	Length     time.Duration
	Iterations int64
	Median     float64 // time of an iteration in nanoseconds; NaN if none ran
	Quality    float64 // NaN if it was not measured
	Metric     string  // what was measured: "PSNR"
	Measured   string  // the quality with its unit: "24.3 dB"; empty if it was not measured
	Name, Note string  // given by the user
}

// Label returns the name that the user gave, or the preset.
func (r *Run) Label() string { return cmp.Or(r.Name, r.Preset, r.File) }

// StateText returns the state as the table shows it.
func (r *Run) StateText() string {
	switch r.State {
	case Running:
		return cmp.Or(r.End, "running")
	case Killed:
		return "killed"
	case CutShort:
		return "cut short"
	case Unread:
		return "unreadable"
	}
	return cmp.Or(r.End, "ended")
}

// Update is what changed in the folder.
type Update struct {
	// All means that Runs are all runs known, and not only those that are new or have changed.
	All  bool
	Runs []Run
	Gone []string // paths
	// Files is the number of files in the folder, of which Read were read; fewer while the folder is
	// read for the first time.
	Files, Read int
	Err         error // the folder cannot be read
}

// Target is a format of exports.
type Target struct {
	Name   string // "chrome"
	About  string // what it is for, in a few words
	Ending string // of a new file or folder: ".json"
}

// Source reads and changes the recordings. Its methods may be called by several goroutines.
type Source interface {
	// Folder returns the folder as it is shown.
	Folder() string
	// Watch delivers what the folder holds, the newest first, and then what changes in it, until ctx
	// ends. The first update has All set.
	Watch(ctx context.Context) <-chan Update
	// Describe sets the name or the note of a run.
	Describe(ctx context.Context, path, key, text string) error
	// Delete deletes a file, which must not belong to a run that goes on.
	Delete(ctx context.Context, path string) error
	// Targets lists the formats; Taken returns which files an export would replace, and Export
	// writes them and returns their paths.
	Targets() []Target
	Taken(format, to string) ([]string, error)
	Export(ctx context.Context, path, format, to string) ([]string, error)
}

// Order is a column by which the table is sorted.
type Order uint8

// The orders.
const (
	ByTime Order = iota
	ByName
	ByLength
	ByIterations
	ByMedian
	ByQuality
	BySize
	ByState
	numOrders
)

// String returns the column's name.
func (o Order) String() string {
	return [...]string{"time", "name", "length", "iterations", "time of an iteration", "quality", "size", "state"}[o]
}

// compare orders two runs, the first in the order's natural direction: the newest, the longest, but the
// fastest, and names by the alphabet. What is not known comes last.
func (o Order) compare(a, b *Run) int {
	if c := cmp.Compare(boolInt(a.State == Unread), boolInt(b.State == Unread)); c != 0 && o != ByTime && o != BySize {
		return c
	}
	c := 0
	switch o {
	case ByName:
		c = cmp.Compare(strings.ToLower(a.Label()), strings.ToLower(b.Label()))
	case ByLength:
		c = cmp.Compare(b.Length, a.Length)
	case ByIterations:
		c = cmp.Compare(b.Iterations, a.Iterations)
	case ByMedian:
		c = unknownLast(a.Median, b.Median, cmp.Compare(a.Median, b.Median))
	case ByQuality:
		c = unknownLast(a.Quality, b.Quality, cmp.Compare(b.Quality, a.Quality))
	case BySize:
		c = cmp.Compare(b.Bytes, a.Bytes)
	case ByState:
		c = cmp.Compare(a.State, b.State)
	}
	return cmp.Or(c, b.Began.Compare(a.Began), cmp.Compare(b.Path, a.Path))
}

// unknownLast returns known if both values are numbers, and else orders the number first.
func unknownLast(a, b float64, known int) int {
	if math.IsNaN(a) || math.IsNaN(b) {
		return cmp.Compare(boolInt(math.IsNaN(a)), boolInt(math.IsNaN(b)))
	}
	return known
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// matches reports whether a run has every word of a filter in one of its texts.
func (r *Run) matches(words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := strings.ToLower(strings.Join([]string{r.File, r.Name, r.Preset, r.Object, r.StateText(), r.Note, r.Err,
		r.Began.Format("2006-01-02 15:04")}, "\n"))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// iterationTime formats the median time of an iteration in milliseconds; a dash if none ran.
func (r *Run) iterationTime() string {
	if math.IsNaN(r.Median) {
		return "–"
	}
	return strings.TrimSpace(unit.Milliseconds(r.Median))
}

// quality formats the quality with its name, or without it if that takes more than w cells.
func (r *Run) quality(w int) string {
	if named := strings.TrimSpace(r.Metric + " " + r.Measured); monospace.Width(named) <= w {
		return named
	}
	return r.Measured
}

// size formats the bytes of the file.
func (r *Run) size() string { return unit.Size(r.Bytes) }

// count formats a number of runs: "1 run", "3 runs".
func count(n int) string { return unit.Plural(n, "run", "runs") }
