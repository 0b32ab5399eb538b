package tui

import (
	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// Controller is what the screen can ask of a run. Every method but Check returns at
// once; a change takes effect between two iterations. The run's own goroutine never
// waits for the screen.
type Controller interface {
	// Set changes a setting by its key: a live one before the next iteration, any
	// other one, and all of a run that is over, for the next run. The error says why
	// this run or machine cannot serve it; nothing has changed then.
	Set(key, value string) error
	// SetMany changes several settings before one and the same iteration. Where
	// one of them is refused, none changes.
	SetMany(sets []settings.Assignment) error
	// Check says what a restart would find wrong with settings that SetMany accepts:
	// it reads the picture that they name. Nothing changes.
	Check(sets []settings.Assignment) error
	// StartAblation begins to compare every switchable optimisation on and off;
	// the snapshots have its table. The settings return to what they were
	// whichever way it ends.
	StartAblation() error
	// StopAblation ends it before it is complete.
	StopAblation()
	// Pause stops the loop after the current iteration, or lets it go on.
	Pause(paused bool)
	// Step runs one iteration of a paused run.
	Step()
	// Restart begins again from the first weights of the seed, with the settings as
	// they are and those that wait for the next run. Where that cannot be, the run
	// goes on and the log has the reason. The error says that no run is left.
	Restart() error
	// CanRestart is the error that Restart would return.
	CanRestart() error
	// Save writes the reconstruction as PNG (16 bit) and NPY and tells the paths
	// in the log.
	Save() error
	// Stop ends the run after the current iteration.
	Stop()
	// Snapshots delivers the newest snapshot; a reader that is late misses the
	// ones between.
	Snapshots() <-chan *profiles.Snapshot
}
