// Package executor runs the tasks of a sweep: on this machine, some at a time, or as one array of Slurm. A task is a
// run, or several that run by turns. Its processes record to this machine's own disk; closed copies, checkpoints and
// the state of each run go into the sweep's folder, so that another task on another machine goes on from there.
package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/settings"
	"prismtop/profiles/sweep"
)

// The runs of a task, one after the other or by turns, and tasks on this machine.

// Options are of all tasks of a process.
type Options struct {
	Folder *sweep.Folder
	Retry  bool // runs that failed, again
	// Tables is as for recording.Open.
	Tables func(workload string) *settings.Table
	// Environ is that of runs; names with prismtop's prefix are left out, as all settings are the plan's.
	Environ []string
	Owner   string // of locks
	Job     string // of Slurm, "4711_3"; empty on this machine
	// Report is called with each change of a run's state, from several goroutines; nil for nobody.
	Report func(c sweep.Cell, s *sweep.Status)
	// Take reads what a run that succeeded has printed, and may add to its state. An error is why it failed after all.
	Take func(c sweep.Cell, printed []byte, s *sweep.Status) error
	Disk string // folder on this machine for what runs write; empty for one of the temporary folder
}

// ErrInterrupted reports that the context ended before the runs did. What they have is kept.
var ErrInterrupted = errors.New("interrupted")

// Local runs tasks on this machine, parallel at a time. With several at a time, each has its share of the processors.
// The error is ErrInterrupted, or why a run could not be begun; a run that fails is none.
func (o *Options) Local(ctx context.Context, tasks []int, parallel int) error {
	queue := make(chan int)
	var all sync.WaitGroup
	errs := make([]error, parallel)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for i := range parallel {
		all.Go(func() {
			pin := processors(i, parallel)
			for t := range queue {
				if err := o.run(ctx, t, pin); err != nil {
					errs[i] = err
					stop()
					return
				}
			}
		})
	}
	for _, t := range tasks {
		select {
		case queue <- t:
		case <-ctx.Done():
		}
	}
	close(queue)
	all.Wait()
	var failed error
	for _, err := range errs {
		if err != nil && (failed == nil || interrupted(failed)) {
			failed = err
		}
	}
	if ctx.Err() != nil && (failed == nil || interrupted(failed)) {
		return ErrInterrupted
	}
	return failed
}

// interrupted reports whether an error is the end of the context.
func interrupted(err error) bool {
	return errors.Is(err, ErrInterrupted) || errors.Is(err, context.Canceled)
}

// Task runs a task. The error is as of Local.
func (o *Options) Task(ctx context.Context, task int) error { return o.run(ctx, task, nil) }

// run runs a task on some processors; nil for all.
func (o *Options) run(ctx context.Context, task int, pin []int) error {
	t := &o.Folder.Tasks[task]
	if err := o.Folder.Unchanged(ctx); err != nil {
		return err
	}
	if t.Turns {
		return o.byTurns(ctx, task, pin)
	}
	for _, c := range t.Cells {
		r, err := o.open(ctx, c)
		switch {
		case err != nil:
			return err
		case r == nil:
			continue
		}
		err = o.alone(ctx, r, pin)
		r.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// alone runs one process to its end.
func (o *Options) alone(ctx context.Context, r *running, pin []int) error {
	if r.finished(ctx) {
		return r.conclude(ctx, nil)
	}
	if err := r.start(ctx, pin, 1, false); err != nil {
		return r.fail(err)
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-r.ended:
			return r.conclude(ctx, err)
		case <-tick.C:
			r.look(ctx)
		case <-ctx.Done():
			return r.interrupt()
		}
	}
}

// lookEvery is the time between two looks at what a process has recorded.
const lookEvery = 500 * time.Millisecond

// open begins to work on a run; nil if there is nothing to do, because it is done, another process works on it, or it
// failed and failures are not repeated.
func (o *Options) open(ctx context.Context, c sweep.Cell) (*running, error) {
	lock, err := o.lock(ctx, c)
	if lock == nil || err != nil {
		return nil, err
	}
	s, err := o.Folder.Read(ctx, c)
	if err != nil {
		lock.Release()
		return nil, err
	}
	if s.State == sweep.Done || s.State == sweep.Failed && !o.Retry {
		lock.Release()
		return nil, nil
	}
	r := &running{Options: o, cell: c, arm: &o.Folder.Arms[c.Arm], status: s, lock: lock, folder: o.Folder.RunFolder(c)}
	if s.State == sweep.Failed { // from its beginning: what it left may be why
		r.status = sweep.Status{Attempt: s.Attempt, CPUSeconds: s.CPUSeconds}
		if err := os.RemoveAll(r.folder); err != nil {
			lock.Release()
			return nil, err
		}
	}
	if err := r.prepare(ctx); err != nil {
		lock.Release()
		return nil, err
	}
	return r, nil
}

// lock makes this process the only one that works on a run; nil if another does. An element of an array waits for one
// that is about to end: Slurm may begin it while the job that was cancelled still writes its checkpoint.
func (o *Options) lock(ctx context.Context, c sweep.Cell) (*atomicfile.Lock, error) {
	for until := time.Now().Add(patience + 10*time.Second); ; {
		lock, err := o.Folder.Lock(c, o.Owner)
		var taken *atomicfile.LockedError
		switch {
		case !errors.As(err, &taken):
			return lock, err
		case o.Job == "" || time.Now().After(until):
			return nil, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ErrInterrupted
		}
	}
}

// Left lists the tasks that have a run to do.
func Left(f *sweep.Folder, states []sweep.Status, retry bool) (tasks []int) {
	of := map[sweep.Cell]sweep.State{}
	for i, c := range f.Cells() {
		of[c] = states[i].State
	}
	for i := range f.Tasks {
		t := &f.Tasks[i]
		left, done := false, 0
		for _, c := range t.Cells {
			left = left || of[c] != sweep.Done && (of[c] != sweep.Failed || retry)
			if of[c] == sweep.Done {
				done++
			}
		}
		if left || t.Turns && done == len(t.Cells) && !f.HasEffects(i) {
			tasks = append(tasks, i)
		}
	}
	return tasks
}

// localFolder returns the folder of a run on this machine's own disk: the same path on every machine, so that a
// recording has one wherever it goes on.
func (o *Options) localFolder(c sweep.Cell) string {
	f := o.Folder
	scratch := f.Scratch
	if scratch == "" {
		scratch = fmt.Sprintf("%s-%d", f.Digest[:8], f.Began.Unix())
	}
	disk := cmp.Or(o.Disk, filepath.Join(os.TempDir(), fmt.Sprintf("prismtop-sweep-%d", os.Getuid())))
	return filepath.Join(disk, scratch,
		fmt.Sprintf("%d.%d", c.Arm, c.Replicate))
}
