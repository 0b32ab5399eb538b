package sim

import (
	"fmt"
	"path/filepath"
	"strings"

	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
)

// command is something to do at the next iteration boundary.
type command struct {
	kind     commandKind
	settings settings.Values // of setCommand: all that is asked for, valid

	ablation  ablation.Options      // of ablateCommand
	before    []settings.Assignment // of replicateCommand and forkCommand
	iteration int64                 // of the same, at which the change was made
}

type commandKind uint8

const (
	setCommand commandKind = iota
	pauseCommand
	resumeCommand
	stepCommand
	restartCommand
	saveCommand
	ablateCommand
	replicateCommand
	forkCommand
	stopAblationCommand
	stopCommand
)

// Set asks for a setting to change: a live one at the next iteration boundary, any other
// one, and all of a run that is over, for the run that Restart begins. It is refused at
// once, with the reason, when the value is wrong or this machine cannot serve it.
func (r *Run) Set(key, value string) error {
	return r.SetMany([]settings.Assignment{{Key: key, Value: value}})
}

// SetMany asks for several settings to change at one and the same iteration
// boundary. Where one of them is refused, none changes; rules that join settings
// are judged with all in place.
func (r *Run) SetMany(sets []settings.Assignment) error {
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
	r.queue(command{kind: setCommand, settings: next})
	return nil
}

// assign is the settings that are asked for with some changed; the caller holds mu.
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
	next = next.Settled()
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

// Check says what a restart would find wrong with settings that Set accepts: it reads
// the picture that they name, which may take long, but not beyond the run's end. Nothing
// changes.
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

// Pause stops the loop after the current iteration, or lets it go on.
func (r *Run) Pause(paused bool) {
	if paused {
		r.send(command{kind: pauseCommand})
		return
	}
	r.send(command{kind: resumeCommand})
}

// Step runs one iteration of a paused run.
func (r *Run) Step() { r.send(command{kind: stepCommand}) }

// Restart begins again from the first weights of the seed, with the settings as they
// are and those that wait for the next run. Where these cannot be served the run goes
// on, and the log has the reason.
func (r *Run) Restart() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.CanRestart(); err != nil {
		return err
	}
	r.queue(command{kind: restartCommand})
	return nil
}

// CanRestart is the error that Restart would return: nothing is left to restart.
func (r *Run) CanRestart() error {
	if r.ended() {
		return errEnded
	}
	return nil
}

// Stop ends the run after the current iteration, or within one that takes long.
func (r *Run) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue(command{kind: stopCommand})
	if r.hurry != nil {
		r.hurry()
	}
}

// Save asks for the reconstruction to be written as 16-bit PNG and NPY; the log
// tells the paths, or what went wrong.
func (r *Run) Save() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended() {
		return errEnded
	}
	r.queue(command{kind: saveCommand})
	return nil
}

// savePath is where Save writes, without extension.
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

// queue adds a command and wakes a loop that waits; the caller holds mu.
func (r *Run) queue(c command) {
	r.commands = append(r.commands, c)
	r.pending.Store(true)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take hands over the commands that wait.
func (r *Run) take() []command {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.commands
	r.commands = nil
	r.pending.Store(false)
	return c
}

func (r *Run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
