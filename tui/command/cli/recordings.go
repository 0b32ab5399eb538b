package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
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

// RecordingNamed returns the path of a recording: the given one, or one of that name in the user's
// folder.
func RecordingNamed(given string) string {
	if _, err := os.Lstat(given); !errors.Is(err, fs.ErrNotExist) || strings.ContainsRune(given, filepath.Separator) {
		return given
	}
	folder, err := recording.Folder()
	if err != nil {
		return given
	}
	for _, name := range []string{given, given + ".sqlite"} {
		path := filepath.Join(folder, name)
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return given
}

// RecordingFiles lists the file of a recording, and those that SQLite keeps beside it.
func RecordingFiles(path string) []string { return []string{path, path + "-wal", path + "-shm"} }
