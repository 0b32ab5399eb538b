// Package loop is how prismtop and a training loop in another process talk: a ring in shared memory that the loop
// writes records to, its greeting, and the settings that it looks at between steps. FORMAT.md describes the file.
//
// The package is the reader's side. It knows neither a run nor a workload: sim/outside makes one of it. It reads and
// writes the file by system calls and maps nothing, so that a file that is cut short is an error and no fault.
package loop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles/atomicfile"
)

// The environment of a program whose loop is to be watched.
const (
	EnvFolder    = "PRISMTOP_LOOP"            // folder for rings
	EnvOnlyWatch = "PRISMTOP_LOOP_ONLY_WATCH" // "1": every knob is refused
	EnvCompile   = "PRISMTOP_LOOP_COMPILE"    // the back end of torch.compile
	EnvNVTX      = "PRISMTOP_LOOP_NVTX"       // "1": NVTX ranges are written, on CUDA
	// EnvKeepMemory is "1" if malloc is to keep the memory that the program frees.
	EnvKeepMemory = "PRISMTOP_LOOP_KEEP_MEMORY"
)

// ringEnding ends the names of rings.
const ringEnding = ".ring"

// Folder returns the folder below which programs have a folder each for their rings: it is in memory where the system
// has such a place.
func Folder() string {
	if run := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		return filepath.Join(run, "prismtop", "loops")
	}
	name := "prismtop-" + strconv.Itoa(os.Getuid())
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return filepath.Join("/dev/shm", name)
	}
	return filepath.Join(os.TempDir(), name)
}

// otherFolders are those that Folder returns in another environment.
func otherFolders() (all []string) {
	user := strconv.Itoa(os.Getuid())
	for _, folder := range []string{filepath.Join("/run/user", user, "prismtop", "loops"),
		filepath.Join("/dev/shm", "prismtop-"+user)} {
		if folder != Folder() {
			all = append(all, folder)
		}
	}
	return all
}

// MakeFolder makes a new folder for the rings of a program, below Folder.
func MakeFolder() (string, error) {
	above := Folder()
	if err := atomicfile.OwnFolder(above); err != nil {
		return "", fmt.Errorf("the folder for rings: %w", err)
	}
	path, err := os.MkdirTemp(above, "program-*")
	if err != nil {
		return "", fmt.Errorf("the folder for rings: %w", err)
	}
	return path, nil
}

// In lists the rings in a folder, the oldest first.
func In(folder string) (paths []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	at := map[string]int64{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ringEnding) && info.Mode().IsRegular() {
			path := filepath.Join(folder, e.Name())
			paths = append(paths, path)
			at[path] = info.ModTime().UnixNano()
		}
	}
	slices.SortStableFunc(paths, func(a, b string) int { return int(min(max(at[a]-at[b], -1), 1)) })
	return paths
}

// Left is a loop that goes on without a prismtop.
type Left struct {
	Path     string // of its ring; empty before its second step
	Folder   string // of its rings
	PID      int
	Greeting *Greeting
}

// List lists the loops of this user that go on without a prismtop, and removes what is left of others.
func List() (all []Left) {
	folders, err := os.ReadDir(Folder())
	if err != nil {
		return nil
	}
	for _, f := range folders {
		folder := filepath.Join(Folder(), f.Name())
		for _, path := range In(folder) {
			r, err := Open(path)
			if err != nil {
				continue // still being made, another's or of another version
			}
			switch alive := r.Alive(); {
			case !r.Operates(): // another prismtop has it
			case !alive:
				r.Remove()
			case r.State() <= Training && r.Rank == 0: // which stands for the others
				if g, err := r.Greeting(); err == nil && g != nil {
					all = append(all, Left{path, folder, r.PID, g})
				}
			}
			r.Release()
		}
		switch s := announced(folder); {
		case s == nil:
			RemoveFolder(folder)
		case len(In(folder)) == 0 && !s.Reader.runs():
			all = append(all, Left{"", folder, s.Program.PID, &Greeting{Script: s.Name}})
		}
	}
	return all
}

var errUnfinished = errors.New("the ring is still being made")
