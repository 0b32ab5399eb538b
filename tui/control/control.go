// Package control is what whoever watches a run may ask of it: a source of snapshots, and a
// capability for each thing more, found by type assertion.
package control

import (
	"errors"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// ErrInterrupted is what a screen and a session of lines return after ctrl+c or a signal that
// ends the program.
var ErrInterrupted = errors.New("interrupted")

// Source is a run as it is watched: live, replayed, or outside the process. What else can be
// asked of one it says by implementing Setter, Pauser, Restarter, Ablator, Replicator,
// Forker, Saver or Stopper.
// Every method of these but Check returns at once; a change takes effect between two iterations.
// The run's own goroutine never waits for whoever watches.
type Source interface {
	// Snapshots delivers the newest snapshot; a reader that is late misses the
	// ones between.
	Snapshots() <-chan *profiles.Snapshot
}

// Setter is a source whose settings can be changed.
type Setter interface {
	// SetMany changes settings before one and the same iteration: live ones before the next
	// iteration, others, and all of a run that is over, for the next run. Where one of them is
	// refused, none changes, and the error says why this run or machine cannot serve it.
	SetMany(sets []settings.Assignment) error
	// Check says what a restart would find wrong with settings that SetMany accepts:
	// it reads the picture that they name. Nothing changes.
	Check(sets []settings.Assignment) error
}

// Pauser is a source that can stand still.
type Pauser interface {
	// Pause stops the loop after the current iteration, or lets it go on.
	Pause(paused bool)
	// Step runs one iteration of a paused run.
	Step()
}

// Restarter is a source that can begin again.
type Restarter interface {
	// Restart begins again from the first weights of the seed, with the settings as
	// they are and those that wait for the next run. Where that cannot be, the run
	// goes on and the log has the reason. The error says that no run is left.
	Restart() error
	// CanRestart is the error that Restart would return.
	CanRestart() error
}

// Ablator is a source that can compare its settings.
type Ablator interface {
	// StartAblation begins to compare every switchable optimisation on and off;
	// the snapshots have its table. The settings return to what they were
	// whichever way it ends.
	StartAblation() error
	// StopAblation ends it before it is complete.
	StopAblation()
}

// Replicator is a source that can switch one change back and forth until it is decided what it
// does to the time of an iteration.
type Replicator interface {
	// Replicate begins to: before has the settings that the change changed with their values
	// before it, and iteration is where it took effect. It ends as an ablation does.
	Replicate(before []settings.Assignment, iteration int64) error
}

// Forker is a source that can compare results from the same point, where its run can go back to
// it (RunInfo.Forks).
type Forker interface {
	// Fork begins to: see Replicator.
	Fork(before []settings.Assignment, iteration int64) error
}

// Saver is a source that can write its result, where its run has one (RunInfo.Saves).
type Saver interface {
	// Save writes the result to files and tells the paths in the log.
	Save() error
}

// Stopper is a source whose run can be ended.
type Stopper interface {
	// Stop ends the run after the current iteration.
	Stop()
}

// Capabilities are what can be asked of a source; nil for what cannot.
type Capabilities struct {
	Setter    Setter
	Pauser    Pauser
	Restarter Restarter
	Ablator   Ablator

	Replicator Replicator
	Forker     Forker

	Saver   Saver
	Stopper Stopper
}

// Of finds the capabilities of a source.
func Of(s Source) (c Capabilities) {
	c.Setter, _ = s.(Setter)
	c.Pauser, _ = s.(Pauser)
	c.Restarter, _ = s.(Restarter)
	c.Ablator, _ = s.(Ablator)
	c.Replicator, _ = s.(Replicator)
	c.Forker, _ = s.(Forker)
	c.Saver, _ = s.(Saver)
	c.Stopper, _ = s.(Stopper)
	return c
}

// Saves says whether the run of a snapshot can be saved; one that has not said yet what it is
// may have something to save.
func (c *Capabilities) Saves(s *profiles.Snapshot) bool {
	return c.Saver != nil && (s == nil || s.Run.Schema.Workload == "" || s.Run.Saves)
}

// Forks reports whether the run of a snapshot can be forked.
func (c *Capabilities) Forks(s *profiles.Snapshot) bool {
	return c.Forker != nil && (s == nil || s.Run.Schema.Workload == "" || s.Run.Forks)
}

// Stop ends the run where that can be.
func (c *Capabilities) Stop() {
	if c.Stopper != nil {
		c.Stopper.Stop()
	}
}
