package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/machine"
)

// A program that was started and has no ring yet. A file in its folder of rings names it, so that it is found although
// its prismtop is killed before the loop's second step.

// starting is what that file holds.
type starting struct {
	Name    string
	Program process // that was started
	Reader  process // the prismtop that started it
}

// process is a process of this machine.
type process struct {
	PID     int
	Started int64 // in ticks; 0 if unknown
}

func processOf(pid int) process { return process{pid, machine.Started(pid)} }

// runs reports whether the process is there.
func (p process) runs() bool {
	now := machine.Started(p.PID)
	return machine.Runs(p.PID) && (now == p.Started || p.Started == 0 || now == 0)
}

const startingName = "starting"

// Announce names the program whose rings a folder is for, which this process has started.
func Announce(folder, name string, pid int) error {
	text, err := json.Marshal(starting{Name: name, Program: processOf(pid), Reader: processOf(os.Getpid())})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(folder, startingName), text, 0o600)
}

// announced reads what Announce has written; nil if there is nothing, or the program has ended.
func announced(folder string) *starting {
	text, err := os.ReadFile(filepath.Join(folder, startingName))
	s := &starting{}
	if err != nil || json.Unmarshal(text, s) != nil || !s.Program.runs() {
		return nil
	}
	return s
}

// RemoveFolder removes a folder of rings unless there is one left in it.
func RemoveFolder(folder string) {
	if len(In(folder)) == 0 {
		_ = os.Remove(filepath.Join(folder, startingName))
		_ = os.Remove(folder)
	}
}

// Await waits for the second step of a loop that has no ring yet.
func (l *Left) Await(ctx context.Context) error {
	err := Wait(ctx.Done(), func() (bool, error) {
		for _, other := range List() {
			if other.Folder == l.Folder && other.Path != "" {
				*l = other
				return true, nil
			}
		}
		if announced(l.Folder) == nil {
			return false, fmt.Errorf("process %d has ended without a training loop", l.PID)
		}
		return false, nil
	})
	return cmp.Or(err, ctx.Err())
}
