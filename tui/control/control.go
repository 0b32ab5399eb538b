// Package control is the interface between a run and its viewers: a source of snapshots with
// optional capabilities, found by type assertion.
package control

import (
	"errors"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
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

// Source is a run being watched: live, replayed, or in another process. It may also implement
// Setter, Pauser, Restarter, Ablator, Replicator, Decider, Forker, Saver, Checkpointer, Clearer, Exporter, Stopper,
// Player, Attender, Annotator or Operator. All methods of these except Check and Export return immediately;
// changes take effect between two iterations. The run's own goroutine never waits for a viewer.
type Source interface {
	// Snapshots delivers the newest snapshot; a slow reader misses the ones in between.
	Snapshots() <-chan *profiles.Snapshot
}

// Setter is a source whose settings can be changed.
type Setter interface {
	// SetMany changes settings together: live ones before the next iteration; the others, and all
	// settings of a run that is over, for the next run. If one of them is refused, none changes,
	// and the error gives the reason.
	SetMany(sets []settings.Assignment) error
	// Check returns the error that a restart would return for settings accepted by SetMany: it
	// reads the picture they name. It changes nothing.
	Check(sets []settings.Assignment) error
}

// Pauser is a source that can be paused.
type Pauser interface {
	// Pause pauses the loop after the current iteration, or resumes it.
	Pause(paused bool)
	// Step runs one iteration of a paused run.
	Step()
}

// Restarter is a source that can be restarted.
type Restarter interface {
	// Restart starts again from the initial weights of the seed, with the current settings and
	// those that wait for the next run. If that fails, the run continues and the log has the
	// reason. An error means that no run is left.
	Restart() error
	// CanRestart returns the error that Restart would return.
	CanRestart() error
}

// Ablator is a source that can compare its settings.
type Ablator interface {
	// StartAblation starts comparing every switchable optimisation on and off; the snapshots
	// contain its table. The settings are restored however it ends.
	StartAblation() error
	// StartFactorial starts running every combination of factors, likewise. It is an error if the
	// settings or the machine cannot take one.
	StartFactorial(factors []settings.Factor) error
	// StopAblation ends an ablation early.
	StopAblation()
}

// Replicator is a source that can switch one change back and forth until its effect on iteration
// time is decided.
type Replicator interface {
	// Replicate starts a replication: before holds the changed settings with their previous
	// values, and iteration is where the change took effect. It ends as an ablation does.
	Replicate(before []settings.Assignment, iteration int64) error
}

// Decider is a source that can decide what a press of a key did.
type Decider interface {
	// Decide is Setter.SetMany for a press of a key: as the setting decide says, the change is then switched back
	// and forth until its effect on iteration time is decided or profiles.DecisionTime is over.
	Decide(sets []settings.Assignment) error
}

// Forker is a source that can compare results from the same starting point, if its run can return
// to one (RunInfo.Able).
type Forker interface {
	// Fork starts a fork; its parameters are those of Replicator.Replicate.
	Fork(before []settings.Assignment, iteration int64) error
}

// Saver is a source that can write its result, if its run has one (RunInfo.Able).
type Saver interface {
	// Save writes the result to files and logs their paths.
	Save() error
}

// Checkpointer is a source that can write its state, if its run can (RunInfo.Able).
type Checkpointer interface {
	// Checkpoint writes the state to a file, for another run to go on from, and logs its path.
	Checkpoint() error
}

// Clearer is a source whose caches can be cleared, if its run has any.
type Clearer interface {
	// Clear clears all caches and logs what they held. They fill again as the run goes
	// on.
	Clear() error
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

// Stopper is a source whose run can be ended.
type Stopper interface {
	// Stop ends the run after the current iteration.
	Stop()
}

// Attender is a source that stops watching its run for a fraction of a second now and then, to
// measure what watching costs.
type Attender interface {
	// Attend reports a user's input: watching goes on at once, so that the response does not
	// wait.
	Attend()
}

// Operator is a source whose run may have several screens, of which one at a time operates it. The
// others only watch: they are refused whatever changes the run.
type Operator interface {
	// Operates reports whether this screen may change the run.
	Operates() bool
	// MayOperate reports whether it may ask for the right to.
	MayOperate() bool
	// Operate asks for the right to, or returns it. A right that another screen has is asked for
	// first and taken when it is asked for again; whoever returns it hands it to the screen that asks.
	Operate(on bool)
	// Asks returns the name of the screen that asks for the right, empty if none does.
	Asks() string
	// Operator returns the name of the screen that has the right, empty if none has.
	Operator() string
}

// Annotator is a source whose run takes notes.
type Annotator interface {
	// MayAnnotate reports whether this screen may write notes.
	MayAnnotate() bool
	// Annotate writes a note of one line at the present iteration.
	Annotate(text string) error
}

// Player is a source that plays a recording. Its snapshots are those that the run had live.
type Player interface {
	// Position returns where the replay is.
	Position() profiles.Position
	// Play plays or pauses.
	Play(playing bool)
	// Faster doubles the speed so often, or halves it for a negative number.
	Faster(doublings int)
	// Step pauses and goes to the next snapshot, or to the one before for a negative number.
	Step(by int)
	// Seek goes to a moment, as in Position. At the last one it follows a run that goes on.
	Seek(to time.Duration)
}

// Capabilities are the optional interfaces of a source; nil for those it does not implement.
type Capabilities struct {
	Setter    Setter
	Pauser    Pauser
	Restarter Restarter
	Ablator   Ablator

	Replicator Replicator
	Decider    Decider
	Forker     Forker

	Saver    Saver
	Stopper  Stopper
	Attender Attender
	Player   Player

	Checkpointer Checkpointer
	Clearer      Clearer
	Operator     Operator
	Annotator    Annotator
	Exporter     Exporter
}

// Of returns the capabilities of a source.
func Of(s Source) (c Capabilities) {
	c.Setter, _ = s.(Setter)
	c.Pauser, _ = s.(Pauser)
	c.Restarter, _ = s.(Restarter)
	c.Ablator, _ = s.(Ablator)
	c.Replicator, _ = s.(Replicator)
	c.Decider, _ = s.(Decider)
	c.Forker, _ = s.(Forker)
	c.Saver, _ = s.(Saver)
	c.Stopper, _ = s.(Stopper)
	c.Checkpointer, _ = s.(Checkpointer)
	c.Clearer, _ = s.(Clearer)
	c.Exporter, _ = s.(Exporter)
	c.Attender, _ = s.(Attender)
	c.Player, _ = s.(Player)
	c.Operator, _ = s.(Operator)
	c.Annotator, _ = s.(Annotator)
	return c
}

// Saves reports whether the run of a snapshot can be saved. It is true before the run has
// described itself.
func (c *Capabilities) Saves(s *profiles.Snapshot) bool {
	return c.Saver != nil && s.Able().Has(profiles.SaveCommand)
}

// Press changes settings by a press of a key: one that the run may decide, if it can.
func (c *Capabilities) Press(sets []settings.Assignment) error {
	if c.Decider != nil {
		return c.Decider.Decide(sets)
	}
	return c.Setter.SetMany(sets)
}

// Forks reports whether the run of a snapshot can be forked.
func (c *Capabilities) Forks(s *profiles.Snapshot) bool {
	return c.Forker != nil && s.Able().Has(profiles.ForkCommand)
}

// Checkpoints reports whether the state of the run of a snapshot can be written.
func (c *Capabilities) Checkpoints(s *profiles.Snapshot) bool {
	return c.Checkpointer != nil && s.Able().Has(profiles.CheckpointCommand)
}

// Operates reports whether this screen may change the run.
func (c *Capabilities) Operates() bool { return c.Operator == nil || c.Operator.Operates() }

// Clears reports whether the caches of the run of a snapshot can be cleared.
func (c *Capabilities) Clears(s *profiles.Snapshot) bool {
	return c.Clearer != nil && s.Able().Has(profiles.ClearCommand)
}

// Annotates reports whether this screen may write notes.
func (c *Capabilities) Annotates() bool { return c.Annotator != nil && c.Annotator.MayAnnotate() }

// Attend reports a user's input if the source wants to know.
func (c *Capabilities) Attend() {
	if c.Attender != nil {
		c.Attender.Attend()
	}
}

// Stop ends the run if the source can.
func (c *Capabilities) Stop() {
	if c.Stopper != nil {
		c.Stopper.Stop()
	}
}
