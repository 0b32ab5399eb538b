// Package control is the interface between a run and its viewers. A Source delivers snapshots, says which commands it
// is able to carry out, and carries them out; a live run, a replay and a session of another process are sources
// alike. What only some can do, such as being played or exported, is an interface beside it, which a viewer asks for.
package control

import (
	"errors"

	"prismtop/profiles"
)

// ErrInterrupted is returned by the screen and by a line session after ctrl+c or a terminating
// signal.
var ErrInterrupted = errors.New("interrupted")

// ErrDetached is returned by the screen when the user leaves the run going, and ErrHungUp when the
// terminal was lost and the run is to go on.
var (
	ErrDetached = errors.New("detached")
	ErrHungUp   = errors.New("the terminal was lost")
)

// Source is a run being watched: live, replayed, or in another process. It may also be Shared, a Replay or an
// Exporter. The run's own goroutine never waits for a viewer.
type Source interface {
	// Snapshots delivers the newest snapshot; a slow reader misses the ones in between.
	Snapshots() <-chan *profiles.Snapshot
	// Able returns the commands that this viewer may ask for now, given the newest snapshot, nil before the first.
	Able(*profiles.Snapshot) profiles.Kinds
	// Do asks for a command. It returns at once, except for one that may take Long, with an error if the command is
	// refused. It takes effect between two iterations; what became of it is in the snapshots.
	Do(profiles.Command) error
}

// Shared is a source whose run may have several screens, of which one at a time operates it. The
// others only watch: they are refused whatever changes the run.
type Shared interface {
	Control() profiles.Control
}

// Replay is a source that plays a recording. Its snapshots are those that the run had live.
type Replay interface {
	// Position returns where the replay is.
	Position() profiles.Position
}

// Exporter is a source whose run can be written to files for other programs.
type Exporter interface {
	// Formats lists the formats.
	Formats() []Format
	// Export writes the run so far in a format, to new files in the working folder, and returns
	// their paths. It takes as long as that takes. An error with paths is about what they lack.
	Export(format string) (paths []string, err error)
}

// Format is a format of files, with a few words on what it is for.
type Format struct{ Name, About string }
