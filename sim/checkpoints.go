package sim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"prismtop/profiles/settings"
	"prismtop/sim/checkpoint"
	"prismtop/sim/workload"
)

// The options of a run's checkpoints, and the states of which the loop has one written.

// Checkpoints says when and where a run writes checkpoints. Whatever it says, Checkpoint writes
// one on request.
type Checkpoints struct {
	// Path is the file to write at intervals and at the end of the run, replacing the one
	// before; empty writes none, and those on request to new files in the working folder. A restart
	// writes to another: of run.npz the first free one of run-2.npz, run-3.npz, …
	Path string

	// Keep says which checkpoints stay beside the newest.
	Keep Keep

	// Lock keeps other processes from writing a file, or returns an error if one of them does. It may be nil.
	Lock func(path string) error

	// Every is the time between two checkpoints; 0 writes them at the end and on request only.
	Every time.Duration

	// Program is the version of the program, Preset what the settings started from, and
	// Origins where each came from, for the file.
	Program, Preset string
	Origins         settings.Origins

	// Recording returns the recording of the run, nil for none, for the file, with the starts in it
	// before those of this run. It may be nil, and is
	// called by the run's goroutine.
	Recording func() *checkpoint.Recording
}

// Written is the newest checkpoint of a run.
type Written struct {
	Path      string // empty for none
	Iteration int64  // iterations it has
	Finished  bool   // nothing is left to go on with
	Earlier   bool   // it is of a start before the last one, which has none

	// Reached are the limits of its settings that its iterations or units of work have reached: a run
	// that goes on from it needs others.
	Reached []string
}

// regularCheckpoint writes a checkpoint if one is due. A run whose settings an ablation changes
// has none until it ends.
func (l *loop) regularCheckpoint(cut context.Context) {
	if l.comparing.now != nil || !l.checkpoints.due() {
		return
	}
	if err := l.checkpoint(cut); err != nil && cut.Err() == nil {
		l.noCheckpoint(err.Error())
	}
}

// checkpointBeforeRestart writes the checkpoint of a start that a restart ends.
func (l *loop) checkpointBeforeRestart(cut context.Context) {
	c := &l.checkpoints
	_ = c.wait() // the log has its error
	if !c.wanted() || l.index == l.info.Resumed || c.has(l.index, l.restarts) {
		return
	}
	l.requestedCheckpoint(cut)
}

// requestedCheckpoint writes a checkpoint now.
func (l *loop) requestedCheckpoint(cut context.Context) {
	_ = l.checkpoints.wait() // the log has its error
	switch {
	case l.comparing.now != nil:
		l.noCheckpoint("the settings are those of a comparison, which must end first")
		return
	case errors.Is(l.failure, workload.ErrDiverged):
		l.noCheckpoint(errDivergedState.Error())
		return
	}
	if err := l.checkpoint(cut); err != nil {
		l.noCheckpoint(err.Error())
	}
}

// errDivergedState is why a run that diverged has no checkpoint.
var errDivergedState = errors.New("the loss is not a number, and there is nothing to go on with")

// lastCheckpoint writes the checkpoint of the end of a run, and waits for it. unsound is why the
// state is none to go on from, nil if it is one.
func (l *loop) lastCheckpoint(cut context.Context, unsound error) {
	c := &l.checkpoints
	if !c.wanted() || l.work == nil || c.concluded {
		return
	}
	c.conclude(nil)
	_ = c.wait() // the log has what was wrong with the one before
	var err error
	switch {
	case errors.Is(l.failure, workload.ErrDiverged):
		err = errDivergedState
	case unsound != nil && cut.Err() != nil:
		err = errors.New("the run was cut short within an iteration")
	case unsound != nil:
		err = fmt.Errorf("no sound state is left: %w", unsound)
	case c.has(l.index, l.restarts):
		return
	default:
		if err = l.checkpoint(context.WithoutCancel(cut)); err == nil {
			if err = c.wait(); err != nil { // the log has it
				err = fmt.Errorf("no checkpoint of iteration %d: %w", l.index, err)
			}
			c.conclude(err)
			return
		}
	}
	l.noCheckpoint(err.Error())
	c.conclude(fmt.Errorf("no checkpoint of iteration %d: %w", l.index, err))
}

// panicked notes that a panic leaves no state to go on from.
func (l *loop) panicked() {
	c := &l.checkpoints
	if l.run == nil || l.work == nil || !c.wanted() || c.concluded {
		return
	}
	_ = c.wait()
	c.conclude(errors.New("no checkpoint at the end: a panic leaves no sound state"))
	l.noCheckpoint("a panic leaves no sound state")
}

// noCheckpoint logs why the present state is not written, and what there is instead.
func (l *loop) noCheckpoint(why string) {
	if l.run == nil || l.work == nil { // it had not begun
		return
	}
	l.decline("no checkpoint: " + why + l.checkpoints.instead(l.restarts))
}

// checkpoint copies the state and starts writing it.
func (l *loop) checkpoint(ctx context.Context) error {
	task, ok := l.work.(workload.Checkpointer)
	if !ok {
		return errors.New(l.info.Schema.Workload + " has no state that can be written")
	}
	state, err := task.Checkpoint(ctx)
	if err != nil {
		return err
	}
	o := &l.run.options.Checkpoints
	run := &checkpoint.Run{
		Program: o.Program, Preset: o.Preset, Workload: l.info.Schema.Workload, Object: l.info.Object,
		Kernels: l.info.Kernels, Iteration: l.index, Finished: l.complete, Settings: checkpoint.SettingsOf(l.settings),
		Ran: l.ran.Seconds(),
	}
	for key, origin := range o.Origins {
		if l.settings.Get(key) == l.run.options.Settings.Get(key) {
			if run.Origins == nil {
				run.Origins = settings.Origins{}
			}
			run.Origins[key] = origin
		}
	}
	run.Earlier = l.units.before()
	for i := range l.units.newest {
		run.Results = append(run.Results, checkpoint.ResultOf(&l.units.newest[i], len(l.info.Schema.Series)))
	}
	if o.Recording != nil {
		if run.Recording = o.Recording(); run.Recording != nil {
			run.Recording.Starts += l.restarts + 1
		}
	}
	c := &l.checkpoints
	c.copied = time.Now()
	w := toWrite{run: run, state: state, reached: l.reads.reached(l.index, len(l.units.newest)), start: l.restarts,
		names: l.run.checkpointNames()}
	if best, keeps := c.keepsBest(); keeps {
		w.best = l.improved(ctx, best)
	}
	c.write(w)
	return nil
}

// checkpointNames returns the names of files for checkpoints on request.
func (r *Run) checkpointNames() func(n int) string {
	name := filepath.Base(r.inputs.Name())
	base := "prismtop-" + strings.TrimSuffix(name, filepath.Ext(name))
	return func(n int) string {
		if n == 1 {
			return base + ".checkpoint.npz"
		}
		return fmt.Sprintf("%s-%d.checkpoint.npz", base, n)
	}
}

// LastCheckpoint returns the newest checkpoint of a run that has ended, and why its last state
// was not written; nil if it was, or if no checkpoint at the end was wanted.
func (r *Run) LastCheckpoint() (Written, error) {
	c := &r.loop.checkpoints
	written := c.written
	written.Earlier = written.Path != "" && c.start != r.loop.restarts
	return written, c.missing
}

// LostCheckpoint returns the newest reason why a run that has ended did not keep an older checkpoint or the best one;
// nil if it kept all that it was to keep.
func (r *Run) LostCheckpoint() error { return r.loop.checkpoints.lost }
