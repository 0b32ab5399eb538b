package sim

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
	"prismtop/sim/experiment"
)

// command is an operation for the next iteration boundary.
type command struct {
	kind     commandKind
	settings settings.Values // of setCommand: all requested settings, valid
	asked    time.Time       // of setCommand and noteCommand: when
	decides  bool            // of setCommand: a press of a key, which may be decided

	ablation  ablation.Options      // of ablateCommand
	before    []settings.Assignment // of replicateCommand and forkCommand
	iteration int64                 // of the same, at which the change was made
	note      profiles.Note         // of noteCommand
}

type commandKind uint8

const (
	setCommand commandKind = iota
	pauseCommand
	resumeCommand
	stepCommand
	restartCommand
	saveCommand
	checkpointCommand
	noteCommand
	clearCommand
	ablateCommand
	replicateCommand
	forkCommand
	stopAblationCommand
	stopCommand
)

// Set requests a change of a setting: a live one changes at the next iteration boundary;
// others, and all settings of a finished run, change with the run that Restart starts.
// Set returns an error at once if the value is invalid or not supported by this machine.
func (r *Run) Set(key, value string) error {
	return r.SetMany([]settings.Assignment{{Key: key, Value: value}})
}

// SetMany requests changes of several settings at the same iteration boundary. If
// one is rejected, none changes; rules that involve several settings are checked
// with all changes applied.
func (r *Run) SetMany(sets []settings.Assignment) error { return r.setMany(sets, false) }

// Decide is SetMany for a press of a key. If the setting decide is auto and the changes are revertible, they are then
// switched back and forth until their effect on the time of an iteration is decided, or profiles.DecisionTime is over.
// The run goes on with what was asked for. Anything else that changes the settings, and a pause, end it earlier.
func (r *Run) Decide(sets []settings.Assignment) error { return r.setMany(sets, true) }

func (r *Run) setMany(sets []settings.Assignment, decides bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, err := r.assign(sets)
	if err != nil {
		return err
	}
	if r.ended() {
		return errEnded
	}
	r.wanted = next
	if len(sets) == 0 {
		return nil
	}
	r.asking++
	r.queue(command{kind: setCommand, settings: next, asked: time.Now(), decides: decides})
	return nil
}

// assign returns the requested settings with some changed; the caller holds mu.
func (r *Run) assign(sets []settings.Assignment) (settings.Values, error) {
	next, live := r.wanted, true
	for _, a := range sets {
		var err error
		if next, err = next.Set(a.Key, a.Value); err == nil {
			err = r.options.Maker.Check(next, a.Key)
		}
		if err != nil {
			return next, err
		}
		k, _ := next.Lookup(a.Key)
		live = live && k.Live
	}
	next = experiment.Overruled(next.Settled(), sets)
	if !r.over.Load() {
		if err := r.started.WithLive(next).Validate(); err != nil {
			return next, err
		}
	}
	err := next.Validate()
	if err != nil && live && !r.over.Load() {
		err = fmt.Errorf("with what waits for the next run: %w", err)
	}
	return next, err
}

// Check returns the error that a restart would find in settings accepted by Set: it
// reads the picture they name, which may take long, but not beyond the end of the run.
// Nothing changes.
func (r *Run) Check(sets []settings.Assignment) error {
	r.mu.Lock()
	next, err := r.assign(sets)
	started, cut := r.started, r.cut
	r.mu.Unlock()
	if err != nil || r.options.Maker.SameInputs(next, started) {
		return err
	}
	_, err = r.options.Maker.Load(cut, next)
	return err
}

// Pause pauses the loop after the current iteration, or resumes it.
func (r *Run) Pause(paused bool) {
	if paused {
		r.send(command{kind: pauseCommand})
		return
	}
	r.send(command{kind: resumeCommand})
}

// Step runs one iteration of a paused run.
func (r *Run) Step() { r.send(command{kind: stepCommand}) }

// Restart starts again from the seed's initial weights, with the current settings and
// those waiting for the next run. If these cannot be used the run continues, and the
// log gives the reason.
func (r *Run) Restart() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.CanRestart(); err != nil {
		return err
	}
	r.queue(command{kind: restartCommand})
	return nil
}

// CanRestart returns the error that Restart would return, when there is nothing
// left to restart.
func (r *Run) CanRestart() error {
	if r.ended() {
		return errEnded
	}
	return nil
}

// Stop ends the run after the current iteration, or within it if it takes long.
func (r *Run) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue(command{kind: stopCommand})
	if r.hurry != nil {
		r.hurry()
	}
}

// Save requests that the reconstruction be written as 16-bit PNG and NPY; the log
// gives the paths or the error.
func (r *Run) Save() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended() {
		return errEnded
	}
	r.queue(command{kind: saveCommand})
	return nil
}

// Checkpoint requests a checkpoint of the run; the log gives its path or the error.
func (r *Run) Checkpoint() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended() {
		return errEnded
	}
	r.queue(command{kind: checkpointCommand})
	return nil
}

// Clear requests that all caches be cleared; the log says what they held, or that there is none.
func (r *Run) Clear() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended():
		return errEnded
	case r.over.Load():
		return errClearOver
	}
	r.queue(command{kind: clearCommand})
	return nil
}

var errClearOver = errors.New("the run is over: nothing asks its caches any more")

// notesAtOnce and noteSpan bound how many notes a run takes in a time.
const (
	notesAtOnce = 20
	noteSpan    = 10 * time.Second
)

var errManyNotes = fmt.Errorf("too many notes: must be at most %d in %v", notesAtOnce, noteSpan)

// Note puts a note at the next iteration boundary, in the stream and in the log. An error means that
// the text makes none, or that there are too many.
func (r *Run) Note(author, text string) error {
	n, err := profiles.NewNote(author, text)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	switch {
	case r.ended():
		return errEnded
	case now.Sub(r.noting) >= noteSpan:
		r.noting, r.noted = now, 0
	case r.noted >= notesAtOnce:
		return errManyNotes
	}
	r.noted++
	r.queue(command{kind: noteCommand, note: n, asked: now})
	return nil
}

// savePath returns the path that Save writes to, without extension.
func (r *Run) savePath() string {
	if r.options.SaveTo != "" {
		return r.options.SaveTo
	}
	name := filepath.Base(r.inputs.Name())
	return "prismtop-" + strings.TrimSuffix(name, filepath.Ext(name))
}

func (r *Run) send(c command) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue(c)
}

// queue adds a command and wakes a waiting loop; the caller holds mu.
func (r *Run) queue(c command) {
	r.commands = append(r.commands, c)
	r.pending.Store(true)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take returns and removes the oldest of the queued commands; ok is false if there is none.
func (r *Run) take() (c command, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.commands) > 0 {
		c, ok = r.commands[0], true
		r.commands = slices.Delete(r.commands, 0, 1)
	}
	r.pending.Store(len(r.commands) > 0)
	return c, ok
}

// again queues a change of settings that failed with the device, before all others: a run that continues makes it then.
func (r *Run) again(c command) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking++
	newer := r.commands
	r.commands = nil
	r.queue(c)
	r.commands = append(r.commands, newer...)
}

func (r *Run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
