package sim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/checkpoint"
	"prismtop/sim/workload"
)

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

	// Program is the version of the program, for the file.
	Program string

	// Recording returns the recording of the run, nil for none, for the file, with the starts in it
	// before those of this run. It may be nil, and is
	// called by the run's goroutine.
	Recording func() *checkpoint.Recording
}

// Resumed is a checkpoint from which a run goes on.
type Resumed struct {
	*checkpoint.Checkpoint
	Path     string          // of the file
	Settings settings.Values // in force at the checkpoint

	limit string // the setting that limits the units of work
}

// Kind is a workload that a checkpoint may be of.
type Kind struct {
	Table  *settings.Table
	Schema profiles.Schema
}

// OpenCheckpoint reads the checkpoint of a file, which is of one of the workloads.
func OpenCheckpoint(ctx context.Context, path string, workloads []Kind) (*Resumed, error) {
	c, err := checkpoint.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, w := range workloads {
		if known = append(known, w.Table.Workload); w.Table.Workload != c.Workload {
			continue
		}
		v, err := c.Values(w.Table)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", path, err)
		}
		return &Resumed{c, path, v, settings.MaxUnits(w.Schema.Unit.Many)}, nil
	}
	return nil, fmt.Errorf("checkpoint %s: the workload %q is unknown: must be %s", path, c.Workload, strings.Join(known, " or "))
}

// Check returns an error if the run cannot go on under the settings.
func (c *Resumed) Check(v settings.Values) error {
	for _, key := range v.Differing(c.Settings) {
		if k, _ := v.Lookup(key); !k.Live {
			want := "must be " + c.Settings.Quoted(key) + ", as in the checkpoint " + c.Path
			if k.Fixed != "" {
				want += ": " + k.Fixed
			}
			return v.Wrong(key, want)
		}
	}
	switch iterations, units := int64(v.Int(settings.MaxIterations)), v.Int(c.limit); {
	case c.Finished:
		return fmt.Errorf("checkpoint %s: the run is complete: there is nothing to go on with", c.Path)
	case iterations > 0 && iterations <= c.Iteration:
		return v.Wrong(settings.MaxIterations, fmt.Sprintf("must be above %d, the iterations of the checkpoint %s, or 0 for no limit", c.Iteration, c.Path))
	case units > 0 && units <= c.Ended():
		return v.Wrong(c.limit, fmt.Sprintf("must be above %d, as far as the checkpoint %s is, or 0 for all", c.Ended(), c.Path))
	}
	return nil
}

// notes returns the first lines of the log of a resumed run.
func (c *Resumed) notes(info *profiles.RunInfo) []string {
	notes := []string{fmt.Sprintf("goes on after iteration %d of the checkpoint %s", c.Iteration, c.Path)}
	if info.Kernels != c.Kernels {
		notes = append(notes, fmt.Sprintf("the checkpoint was written with %s kernels, from whose results those of %s differ in rounding", c.Kernels, info.Kernels))
	}
	return notes
}

// resume makes the task of the checkpoint, which begins with the checkpoint's settings, and
// changes to those requested.
func (l *loop) resume(ctx context.Context, r *Run, v settings.Values) error {
	from := r.options.Resume
	begin, err := r.resumedOn(from.Settings, v)
	if err != nil {
		return err
	}
	c := r.foreseen(ctx, begin)
	work, err := r.options.Maker.New(ctx, begin, r.inputs)
	if err != nil {
		return err
	}
	task, ok := work.(workload.Checkpointer)
	if !ok {
		work.Close()
		return fmt.Errorf("checkpoint %s: %s cannot go on from one", from.Path, from.Workload)
	}
	if err := task.Resume(ctx, from.Checkpoint); err != nil {
		work.Close()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("checkpoint %s: %w", from.Path, err)
	}
	c.inputs, c.work = r.inputs, work
	l.begin(r, c, from)
	from.Arrays = nil // copied
	err = l.change(ctx, v, false)
	if err != nil {
		l.close()
	}
	return err
}

// resumedOn returns the settings with which a checkpoint is resumed: its own on the requested device, or the requested
// ones if that device does not support its own.
func (r *Run) resumedOn(from, v settings.Values) (settings.Values, error) {
	k, ok := from.Lookup(settings.Device)
	if !ok || !k.Live {
		return from, nil
	}
	begin, err := from.Set(settings.Device, v.Text(settings.Device))
	if err == nil && r.options.Maker.Check(begin, settings.Device) != nil {
		begin = v
	}
	return begin, err
}

// Written is the newest checkpoint of a run.
type Written struct {
	Path      string // empty for none
	Iteration int64  // iterations it has
	Finished  bool   // nothing is left to go on with

	// Reached are the limits of its settings that its iterations or units of work have reached: a run
	// that goes on from it needs others.
	Reached []string
}

// checkpoints is the state of writing. Files are written by another goroutine, one at a time.
type checkpoints struct {
	files   family           // of the start
	writing chan writeResult // of one file; nil for none
	copied  time.Time        // when the newest copy was made, or the start began

	written   Written // the newest file
	start     int     // the start that it is of
	concluded bool    // the start has ended and its last state was dealt with
	missing   error   // why that state was not written, nil if it was or none was wanted
}

// writeResult is how the writing of a file ended.
type writeResult struct {
	written Written
	files   family
	start   int
	err     error
}

// began begins the first interval of a start, whose checkpoints are named for it. from is the checkpoint that it goes
// on from, nil for none.
func (c *checkpoints) began(o *Checkpoints, start int, from *Resumed) {
	c.copied, c.concluded, c.missing = time.Now(), false, nil
	switch {
	case o.Path == "":
	case from != nil:
		c.files = resumedFamily(o.Path, from)
	case start == 0:
		c.files = family{path: o.Path, newest: -1}
	default:
		_ = c.wait() // or its file would seem to be free
		c.files = family{path: c.files.next(o), newest: -1}
	}
}

// wanted reports whether the run leaves a checkpoint at its end.
func (c *checkpoints) wanted(r *Run) bool { return r.options.Checkpoints.Path != "" }

// wait waits until no file is being written and returns the error of the one that was.
func (c *checkpoints) wait() error {
	if c.writing == nil {
		return nil
	}
	return c.take(<-c.writing)
}

// idle reports whether no file is being written.
func (c *checkpoints) idle() bool {
	if c.writing == nil {
		return true
	}
	select {
	case result := <-c.writing:
		_ = c.take(result) // the log has it
		return true
	default:
		return false
	}
}

func (c *checkpoints) take(result writeResult) error {
	c.writing = nil
	if result.err == nil {
		c.written, c.start = result.written, result.start
	}
	c.files = result.files
	return result.err
}

// regularCheckpoint writes a checkpoint if one is due. A run whose settings an ablation changes
// has none until it ends.
func (l *loop) regularCheckpoint(cut context.Context) {
	o := &l.run.options.Checkpoints
	if o.Path == "" || o.Every <= 0 || time.Since(l.checkpoints.copied) < o.Every || l.comparison != nil || !l.checkpoints.idle() {
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
	if !c.wanted(l.run) || l.index == l.info.Resumed || c.written.Iteration == l.index && c.start == l.restarts && c.written.Path != "" {
		return
	}
	l.requestedCheckpoint(cut)
}

// requestedCheckpoint writes a checkpoint now.
func (l *loop) requestedCheckpoint(cut context.Context) {
	_ = l.checkpoints.wait() // the log has its error
	switch {
	case l.comparison != nil:
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
	if !c.wanted(l.run) || l.work == nil || c.concluded {
		return
	}
	c.concluded = true
	_ = c.wait() // the log has what was wrong with the one before
	var err error
	switch {
	case errors.Is(l.failure, workload.ErrDiverged):
		err = errDivergedState
	case unsound != nil && cut.Err() != nil:
		err = errors.New("the run was cut short within an iteration")
	case unsound != nil:
		err = fmt.Errorf("no sound state is left: %w", unsound)
	case c.written.Path != "" && c.written.Iteration == l.index && c.start == l.restarts:
		return
	default:
		if err = l.checkpoint(context.WithoutCancel(cut)); err == nil {
			c.missing = c.wait() // the log has it
			return
		}
	}
	l.noCheckpoint(err.Error())
	c.missing = fmt.Errorf("no checkpoint of iteration %d: %w", l.index, err)
}

// panicked notes that a panic leaves no state to go on from.
func (l *loop) panicked() {
	c := &l.checkpoints
	if l.run == nil || l.work == nil || !c.wanted(l.run) || c.concluded {
		return
	}
	_ = c.wait()
	c.concluded, c.missing = true, errors.New("no checkpoint at the end: a panic leaves no sound state")
	l.noCheckpoint("a panic leaves no sound state")
}

// noCheckpoint logs why the present state is not written, and what there is instead.
func (l *loop) noCheckpoint(why string) {
	if l.run == nil || l.work == nil { // it had not begun
		return
	}
	instead := ""
	if w := l.checkpoints.written; w.Path != "" {
		instead = fmt.Sprintf("; %s has iteration %d", w.Path, w.Iteration)
	}
	l.run.stream.Refuse("no checkpoint: " + why + instead)
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
	o, stream := &l.run.options.Checkpoints, l.run.stream
	run := &checkpoint.Run{
		Program: o.Program, Workload: l.info.Schema.Workload, Object: l.info.Object, Kernels: l.info.Kernels,
		Iteration: l.index, Finished: l.complete, Settings: checkpoint.SettingsOf(l.settings),
	}
	if l.earlier.Units > 0 {
		run.Earlier = l.earlier.Clone()
	}
	for i := range l.results {
		run.Results = append(run.Results, checkpoint.ResultOf(&l.results[i], len(l.info.Schema.Series)))
	}
	if o.Recording != nil {
		if run.Recording = o.Recording(); run.Recording != nil {
			run.Recording.Starts += l.restarts + 1
		}
	}
	c := &l.checkpoints
	c.copied = time.Now()
	before, files, improved := c.files, c.files, false
	if files.path != "" && o.Keep.Best {
		if best := l.improved(ctx, files.best); best != nil {
			files.best, improved = best, true
		}
	}
	written := Written{files.path, run.Iteration, run.Finished, l.reached()}
	done, names, start := make(chan writeResult, 1), l.run.checkpointNames(), l.restarts
	c.writing = done
	go func() {
		var err, lost error
		after := files
		if files.path != "" {
			after, lost, err = files.write(o.Keep.Last, improved, run, state)
		} else {
			written.Path, err = checkpoint.WriteNew(names, run, state)
		}
		if err != nil {
			stream.Refuse("no checkpoint: " + err.Error())
			after = before
		} else {
			stream.Log(fmt.Sprintf("checkpoint of iteration %d in %s", run.Iteration, written.Path))
		}
		if lost != nil {
			stream.Refuse("an older or the best checkpoint was not kept: " + lost.Error())
		}
		done <- writeResult{written, after, start, err}
	}()
	return nil
}

// reached returns the limits of the settings in force that the run has reached.
func (l *loop) reached() (keys []string) {
	if s := &l.reads; s.maxIterations > 0 && l.index >= s.maxIterations {
		keys = append(keys, settings.MaxIterations)
	}
	if s := &l.reads; s.maxUnits > 0 && len(l.results) >= s.maxUnits {
		keys = append(keys, s.maxUnitsKey)
	}
	return keys
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
	return r.loop.checkpoints.written, r.loop.checkpoints.missing
}
