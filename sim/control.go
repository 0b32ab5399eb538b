package sim

import (
	"fmt"
	"path/filepath"
	"strings"

	"prismtop/profiles/preset"
)

// command is something to do at the next iteration boundary.
type command struct {
	kind  commandKind
	key   string
	value string
}

type commandKind uint8

const (
	setCommand commandKind = iota
	pauseCommand
	resumeCommand
	stepCommand
	restartCommand
	saveCommand
	stopCommand
)

// Set asks for a setting to change at the next iteration boundary. It is refused
// at once, with the reason, when the value is wrong, the setting cannot change
// while a run goes on, or this machine cannot serve it.
func (r *Run) Set(key, value string) error {
	k, ok := preset.LookupKey(key)
	if ok && !k.Live {
		return fmt.Errorf("%s cannot change while a run goes on", key)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.wanted
	if err := next.Set(key, value); err != nil {
		return err
	}
	if err := next.Validate(); err != nil {
		return err
	}
	if next.Device == "cuda" {
		return fmt.Errorf("device = cuda: %s", r.options.GPUReason)
	}
	if r.ended() {
		return errEnded
	}
	if r.over.Load() {
		return errOver
	}
	r.wanted = next
	r.queue(command{kind: setCommand, key: key, value: next.Get(key)})
	return nil
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

// Restart begins again from the first weights of the seed, with the settings as
// they are.
func (r *Run) Restart() { r.send(command{kind: restartCommand}) }

// Stop ends the run after the current iteration.
func (r *Run) Stop() { r.send(command{kind: stopCommand}) }

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
	name := filepath.Base(r.object.Name)
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
