package sim

import (
	"context"
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
	"prismtop/sim/workload"
)

// This file carries out commands: Do checks and queues one, carryOut executes it between two iterations, and able
// says which the run is able to. A new kind is a case of each.

// command is a Command in the queue for the next iteration boundary.
type command struct {
	profiles.Command
	values settings.Values // of SetCommand: all requested settings, valid
	asked  time.Time       // when
	note   profiles.Note   // of NoteCommand

	ablation ablation.Options // of AblateCommand
}

// sets reports whether it changes settings.
func (c *command) sets() bool {
	return c.Kind == profiles.SetCommand || c.Kind == profiles.DecideCommand
}

// errUnknown refuses a kind of command that this run does not carry out.
type errUnknown profiles.CommandKind

func (e errUnknown) Error() string { return fmt.Sprintf("%q: not a command of this run", string(e)) }

// Do asks for a command to be carried out at the next iteration boundary. It returns at once, except for a try of
// settings, with an error if the command is refused: its values are invalid or not supported by this machine, or the
// run is over. The stream has the answer once it is carried out.
func (r *Run) Do(c profiles.Command) error {
	q := command{Command: c, asked: time.Now()}
	if c.Long() {
		return r.check(c.Settings)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := r.ended()
	if ended && !q.sets() && c.Kind != profiles.StopCommand {
		return errEnded
	}
	var err error
	switch c.Kind {
	case profiles.SetCommand, profiles.DecideCommand:
		if q.values, err = r.assign(c.Settings); err != nil {
			return err
		}
		if ended {
			return errEnded
		}
		r.wanted = q.values
		if len(c.Settings) == 0 {
			return nil
		}
		r.asking++
	case profiles.StopCommand:
		if !c.Try && r.hurry != nil {
			r.hurry()
		}
	case profiles.AblateCommand:
		q.ablation = ablation.Options{Factors: c.Factors}
		err = r.mayAblate(&q.ablation)
	case profiles.ReplicateCommand:
		err = r.mayReplicate(c.Settings)
	case profiles.ForkCommand:
		err = r.mayCompare(errForkOver)
	case profiles.ClearCommand:
		err = r.mayCompare(errClearOver)
	case profiles.NoteCommand:
		if q.note, err = profiles.NewNote(c.By, c.Text); err == nil && !c.Try && !r.notes.Take(q.asked, notesAtOnce) {
			err = errManyNotes
		}
	case profiles.PauseCommand, profiles.ResumeCommand, profiles.StepCommand, profiles.StopAblationCommand,
		profiles.RestartCommand, profiles.SaveCommand, profiles.CheckpointCommand, profiles.TraceCommand:
	default:
		return errUnknown(c.Kind)
	}
	if err == nil && !c.Try {
		r.queue(q)
	}
	return err
}

// carryOut executes a command between two iterations. An error is that of the run.
func (l *loop) carryOut(cut context.Context, c command) (stop bool, err error) {
	l.declined = ""
	switch c.Kind {
	case profiles.SetCommand, profiles.DecideCommand:
		l.changes.asked = c.asked
		l.run.answered()
		err = l.set(cut, c.values, c.Kind == profiles.DecideCommand)
	case profiles.PauseCommand:
		if err = l.comparing.stopDeciding(cut, "the run was paused"); err == nil {
			err = l.pause(cut, true)
		}
	case profiles.ResumeCommand:
		err = l.pause(cut, false)
	case profiles.StepCommand:
		err = l.step(cut)
	case profiles.AblateCommand:
		err = l.comparing.ablate(cut, c.ablation)
	case profiles.ReplicateCommand:
		err = l.comparing.replicate(cut, c.Settings, c.At)
	case profiles.ForkCommand:
		if err = l.comparing.stopDeciding(cut, "a fork was asked for"); err == nil {
			l.startFork(c)
		}
	case profiles.StopAblationCommand:
		l.endFork("it was stopped")
		err = l.comparing.stopAsked(cut)
	case profiles.RestartCommand:
		err = l.restart(cut)
	case profiles.SaveCommand:
		l.save(cut)
	case profiles.CheckpointCommand:
		l.requestedCheckpoint(cut)
	case profiles.ClearCommand:
		l.clearCaches()
	case profiles.TraceCommand:
		l.trace(cut)
	case profiles.NoteCommand:
		c.note.Iteration, c.note.Written = l.index, max(0, c.asked.Sub(l.began))
		l.run.stream.Note(c.note)
	case profiles.StopCommand:
		stop = true
	}
	if err == nil {
		l.run.stream.Answer(profiles.Answer{Kind: c.Kind, N: c.N, By: c.By, Refused: l.declined, Iteration: l.index})
	}
	return stop, err
}

// decline logs why a command is not carried out.
func (l *loop) decline(text string) {
	l.run.stream.Refuse(text)
	l.declined = text
}

// trace has the task's program write a trace.
func (l *loop) trace(cut context.Context) {
	t, ok := l.work.(workload.Tracer)
	if !ok || l.finished {
		l.decline("no trace: the run is over")
		return
	}
	if err := t.Trace(cut); err != nil && cut.Err() == nil {
		l.decline("no trace: " + err.Error())
	}
}

// able returns the commands that the run of a task carries out.
func able(work workload.Task) profiles.Kinds {
	has := map[profiles.CommandKind]bool{profiles.ClearCommand: len(work.Info().Schema.Caches) > 0}
	_, has[profiles.SaveCommand] = work.(workload.Saver)
	_, has[profiles.ForkCommand] = work.(workload.Forker)
	_, has[profiles.TraceCommand] = work.(workload.Tracer)
	_, has[profiles.CheckpointCommand] = work.(workload.Checkpointer)
	able := slices.DeleteFunc(profiles.Every(), func(k profiles.CommandKind) bool {
		can, depends := has[k]
		return depends && !can
	})
	if t, ok := work.(workload.Unable); ok {
		able = able.Without(t.Unable()...)
	}
	return able
}

// Set asks for a change of one setting; see profiles.SetCommand.
func (r *Run) Set(key, value string) error {
	return r.Do(profiles.Command{Kind: profiles.SetCommand, Settings: []settings.Assignment{{Key: key, Value: value}}})
}

// Stop ends the run after the current iteration, or within it if it takes long.
func (r *Run) Stop() { _ = r.Do(profiles.Command{Kind: profiles.StopCommand}) } // it is never refused

// Ablate starts an ablation with options that a command does not have.
func (r *Run) Ablate(o ablation.Options) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended() {
		return errEnded
	}
	if err := r.mayAblate(&o); err != nil {
		return err
	}
	r.queue(command{Command: profiles.Command{Kind: profiles.AblateCommand}, ablation: o})
	return nil
}

// assign returns the requested settings with some changed; the caller holds mu.
func (r *Run) assign(sets []settings.Assignment) (settings.Values, error) {
	next, live := r.wanted, true
	if r.once.Load() && r.over.Load() {
		return next, errEnded
	}
	for _, a := range sets {
		var err error
		if next, err = next.Set(a.Key, a.Value); err == nil {
			err = r.options.Maker.Check(next, a.Key)
		}
		if err != nil {
			return next, err
		}
		k, _ := next.Lookup(a.Key)
		if r.once.Load() && !k.Live && next.Get(a.Key) != r.wanted.Get(a.Key) {
			return next, fmt.Errorf("%s = %s: cannot change in this run: %s", a.Key, a.Value, k.Fixed)
		}
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

// check returns the error that a restart would find in settings: it reads the picture they name, which may take long,
// but not beyond the end of the run. Nothing changes.
func (r *Run) check(sets []settings.Assignment) error {
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

// Reasons why a run that is over carries something out no more.
var (
	errClearOver = errors.New("the run is over: nothing asks its caches any more")
	errForkOver  = errors.New("a fork needs iterations, and the run is over; restart it first")
)

// mayCompare returns an error if there are no more iterations.
func (r *Run) mayCompare(over error) error {
	if r.over.Load() {
		return over
	}
	return nil
}

// notesAtOnce bounds how many notes a run takes in profiles.NoteSpan.
const notesAtOnce = 20

var errManyNotes = fmt.Errorf("too many notes: must be at most %d in %v", notesAtOnce, profiles.NoteSpan)

// savePath returns the path that Save writes to, without extension.
func (r *Run) savePath() string {
	if r.options.SaveTo != "" {
		return r.options.SaveTo
	}
	name := filepath.Base(r.inputs.Name())
	return "prismtop-" + strings.TrimSuffix(name, filepath.Ext(name))
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
