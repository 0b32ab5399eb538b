package sim

import (
	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// This file asks for commands by methods, for callers that do not pass on a Command.

// SetMany is a profiles.SetCommand.
func (r *Run) SetMany(sets []settings.Assignment) error {
	return r.Do(profiles.Command{Kind: profiles.SetCommand, Settings: sets})
}

// Decide is a profiles.DecideCommand.
func (r *Run) Decide(sets []settings.Assignment) error {
	return r.Do(profiles.Command{Kind: profiles.DecideCommand, Settings: sets})
}

// Check is a try of a profiles.SetCommand.
func (r *Run) Check(sets []settings.Assignment) error {
	return r.Do(profiles.Command{Kind: profiles.SetCommand, Settings: sets, Try: true})
}

// Pause is a profiles.PauseCommand or a profiles.ResumeCommand.
func (r *Run) Pause(paused bool) {
	kind := profiles.ResumeCommand
	if paused {
		kind = profiles.PauseCommand
	}
	_ = r.Do(profiles.Command{Kind: kind})
}

// Step is a profiles.StepCommand.
func (r *Run) Step() { _ = r.Do(profiles.Command{Kind: profiles.StepCommand}) }

// Restart is a profiles.RestartCommand.
func (r *Run) Restart() error { return r.Do(profiles.Command{Kind: profiles.RestartCommand}) }

// CanRestart is a try of it.
func (r *Run) CanRestart() error {
	return r.Do(profiles.Command{Kind: profiles.RestartCommand, Try: true})
}

// StartAblation is a profiles.AblateCommand.
func (r *Run) StartAblation() error { return r.Do(profiles.Command{Kind: profiles.AblateCommand}) }

// StartFactorial is one with factors.
func (r *Run) StartFactorial(factors []settings.Factor) error {
	return r.Do(profiles.Command{Kind: profiles.AblateCommand, Factors: factors})
}

// StopAblation is a profiles.StopAblationCommand.
func (r *Run) StopAblation() { _ = r.Do(profiles.Command{Kind: profiles.StopAblationCommand}) }

// Replicate is a profiles.ReplicateCommand.
func (r *Run) Replicate(before []settings.Assignment, iteration int64) error {
	return r.Do(profiles.Command{Kind: profiles.ReplicateCommand, Settings: before, At: iteration})
}

// Fork is a profiles.ForkCommand.
func (r *Run) Fork(before []settings.Assignment, iteration int64) error {
	return r.Do(profiles.Command{Kind: profiles.ForkCommand, Settings: before, At: iteration})
}

// Save is a profiles.SaveCommand.
func (r *Run) Save() error { return r.Do(profiles.Command{Kind: profiles.SaveCommand}) }

// Checkpoint is a profiles.CheckpointCommand.
func (r *Run) Checkpoint() error { return r.Do(profiles.Command{Kind: profiles.CheckpointCommand}) }

// Clear is a profiles.ClearCommand.
func (r *Run) Clear() error { return r.Do(profiles.Command{Kind: profiles.ClearCommand}) }

// Note is a profiles.NoteCommand.
func (r *Run) Note(author, text string) error {
	return r.Do(profiles.Command{Kind: profiles.NoteCommand, By: author, Text: text})
}
