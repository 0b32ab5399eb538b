package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prismtop/profiles/unit"
)

// Stored references: histories of one build for each work, written on request, one file for each processor's model,
// kernels and number of threads.

// ReferenceFolder returns the folder of stored references: prismtop/references in $XDG_DATA_HOME, which is
// ~/.local/share unless set.
func ReferenceFolder() (string, error) {
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) { // as the standard wants relative ones to be ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errors.New("no folder for references: set XDG_DATA_HOME, or name a file with --reference")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "prismtop", "references"), nil
}

// ReferenceName returns the name of the file for a reference on an entry's processor: its model, kernels and threads.
func (e *Entry) ReferenceName() string {
	name := fmt.Sprintf("%s %s %s %d", e.Machine.CPU, e.Machine.GPU, e.Kernels, e.Threads)
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-") + ".jsonl"
}

// Store returns a file of references with measurements of one build as the reference of their work: the file's
// entries of other work and other processors, and further ones of the same build, stay. An error names the build whose
// reference would be lost, unless replace is true.
func Store(file, measured []Entry, by string, replace bool) ([]Entry, error) {
	var all []Entry
	for i := range file {
		e := &file[i]
		if !e.stored() {
			return nil, errors.New("a history, and no stored reference: choose another name")
		}
		of := e.SameWork(&measured[0]) && e.sameProcessor(&measured[0])
		switch {
		case !of || e.Build.Same(measured[0].Build):
			all = append(all, *e)
		case !replace:
			return nil, fmt.Errorf("the reference of this work is of build %s, %s: --force replaces it",
				e.Build, e.origin())
		}
	}
	for _, e := range measured {
		e.By = by
		all = append(all, e)
	}
	return all, nil
}

// Stored reports whether a file of entries is a stored reference.
func Stored(file []Entry) bool { return len(file) > 0 && file[0].stored() }

// JudgeStored is Judge by a stored reference, which nothing in the history replaces: past only says how far the
// machine's speed moves.
func JudgeStored(file, past []Entry, fresh Entry, limit float64) *Check {
	c := Judge(file, fresh, limit)
	if c.Reference == nil {
		return c
	}
	return Judge(slices.Concat(file, past), fresh, limit)
}

// stored reports whether an entry is of a stored reference.
func (e *Entry) stored() bool { return e.By != "" }

// origin says who stored an entry as a reference, and when it was measured.
func (e *Entry) origin() string { return fmt.Sprintf("measured at %s by %s", e.Time, e.By) }

// sameProcessor reports whether two entries were measured on one model of processor, and of
// GPU, with the same kernels and number of threads.
func (e *Entry) sameProcessor(other *Entry) bool {
	return e.Machine.CPU == other.Machine.CPU && e.Machine.GPU == other.Machine.GPU &&
		e.Machine.System == other.Machine.System &&
		e.Kernels == other.Kernels && e.Threads == other.Threads
}

// comparable reports whether the times of two entries may be compared: a stored reference with every machine of its
// processor, an entry of a history with its own machine and, where known, the same kernels and threads.
func (e *Entry) comparable(fresh *Entry) bool {
	if e.stored() {
		return e.sameProcessor(fresh)
	}
	return e.Machine.Same(fresh.Machine) && (e.Kernels == "" || fresh.Kernels == "" || e.sameProcessor(fresh))
}

// where names the machine of an entry with its kernels.
func (e *Entry) where() string {
	if e.Kernels == "" {
		return e.Machine.String()
	}
	return fmt.Sprintf("%s, kernels %s, %s", e.Machine, e.Kernels, unit.Plural(e.Threads, "thread", "threads"))
}
