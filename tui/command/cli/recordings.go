package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
	"prismtop/sim/workloads"
)

// TableOf returns the table of a workload's settings, nil for one that this program does not have.
func TableOf(workload string) *settings.Table {
	for _, w := range workloads.All {
		if w.Presets.Table.Workload == workload {
			return w.Presets.Table
		}
	}
	return nil
}

// RecordingNamed returns the path of a recording: the given one, or that of the file of this name in the
// user's folder, or of the run that the user gave this name. Where there is none, the error says where
// names are listed, and is fs.ErrNotExist.
func RecordingNamed(ctx context.Context, given string) (string, error) {
	if _, err := os.Lstat(given); !errors.Is(err, fs.ErrNotExist) {
		return given, nil
	}
	folder, err := recording.Folder()
	if err != nil {
		return "", &notRecorded{given}
	}
	if !strings.ContainsRune(given, filepath.Separator) {
		for _, name := range []string{given, given + ".sqlite"} {
			path := filepath.Join(folder, name)
			if _, err := os.Lstat(path); err == nil {
				return path, nil
			}
		}
	}
	all, err := recording.List(ctx, folder)
	if err != nil {
		return given, nil
	}
	var paths, files []string
	for i := range all {
		if l := &all[i]; l.Name == given && given != "" {
			paths = append(paths, l.Path)
			files = append(files, visible.Text(strings.TrimSuffix(filepath.Base(l.Path), filepath.Ext(l.Path))))
		}
	}
	switch len(paths) {
	case 0:
		return "", &notRecorded{given}
	case 1:
		return paths[0], nil
	}
	return "", fmt.Errorf("the name %q is that of %d runs: %s; say which by one of these", given, len(paths),
		strings.Join(files, ", "))
}

// notRecorded is an error about a recording that is not there.
type notRecorded struct{ given string }

func (e *notRecorded) Error() string {
	return visible.Text(e.given) + ": no such file, and no run that prismtop runs lists"
}

func (e *notRecorded) Unwrap() error { return fs.ErrNotExist }

// RecordingFiles lists the file of a recording, and those that SQLite keeps beside it.
func RecordingFiles(path string) []string { return []string{path, path + "-wal", path + "-shm"} }
