// Package sim runs a reconstruction on a goroutine of its own and lets the
// outside change its settings between iterations.
//
// The run writes what it measures into a stream.Stream and never waits for a
// reader. Commands (a setting, pause, step, restart, save, stop) are queued by
// any goroutine and obeyed at the next iteration boundary.
package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/workload"
)

// Options says what to run and how to be watched.
type Options struct {
	Maker    workload.Maker // of the workload
	Settings settings.Values
	Stream   *stream.Stream

	// SaveTo is the path, without extension, that Save writes a .png and a .npy
	// beside; empty is "prismtop-" and the object's name in the working folder. Where
	// that is taken it is followed by -2, or -3, and so on.
	SaveTo string

	// GPUReason tells why no GPU can be used; empty when one can.
	GPUReason string

	// Roofs gives what the machine can do at most with kernels on a number of
	// threads, nil when that was not measured. The layers are judged by it. It may
	// be nil, and is called by the run's goroutine when settings change.
	Roofs func(kernels string, threads int) workload.Judge

	// Notes are lines for the log's beginning.
	Notes []string

	// KeepOutput makes sure that there is a reconstruction to write after a run was
	// stopped within an iteration that takes long, at the cost of a copy in each such.
	KeepOutput bool

	// Linger keeps a run that finished ready for Save and Restart until Stop.
	Linger bool

	// Metrics is how often the reconstruction is compared with the truth between
	// the ends of samples; 0 is only there.
	Metrics time.Duration
}

// Run is a reconstruction under way. Its methods may be called from any goroutine.
type Run struct {
	options Options
	cut     context.Context // ends a little after the run is to stop
	hurry   func()          // makes cut end; nil before Start
	stream  *stream.Stream
	inputs  workload.Inputs // nil until they were loaded

	prepared bool

	mu       sync.Mutex
	wanted   settings.Values // of the next start, once the queue is obeyed
	started  settings.Values // that the present start began with
	commands []command
	err      error

	pending atomic.Bool   // commands wait
	over    atomic.Bool   // finished or failed: waits for a restart
	wake    chan struct{} // ends the wait of a paused run
	done    chan struct{}

	loop loop
}

// New loads the picture, compiles the plans and prepares everything; it does not
// start. Errors name the setting or the file that is wrong, or are that of ctx where it
// ends before.
func New(ctx context.Context, o Options) (*Run, error) {
	r, err := Open(ctx, o)
	if err == nil {
		err = r.prepare(ctx)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Open is New for a screen that wants to be there at once: Start prepares what
// takes time. A picture's file is read here already. What New finds wrong with the
// settings later than Open is a SettingsError of Wait.
func Open(ctx context.Context, o Options) (*Run, error) {
	if err := o.Settings.Validate(); err != nil {
		return nil, err
	}
	if err := o.Maker.Check(o.Settings, settings.Device); err != nil {
		return nil, err
	}
	o.Settings = o.Settings.Settled()
	r := &Run{
		options: o, stream: o.Stream, wanted: o.Settings, started: o.Settings,
		wake: make(chan struct{}, 1), done: make(chan struct{}), cut: context.Background(),
	}
	if o.Maker.Reads(o.Settings) {
		inputs, err := o.Maker.Load(ctx, o.Settings)
		if err != nil {
			return nil, err
		}
		r.inputs = inputs
	}
	return r, nil
}

// prepare makes the run ready for its first iteration.
func (r *Run) prepare(ctx context.Context) (err error) {
	if r.inputs == nil {
		if r.inputs, err = r.options.Maker.Load(ctx, r.options.Settings); err != nil {
			return err
		}
	}
	r.prepared = true
	return r.loop.prepare(ctx, r, r.options.Settings)
}

// begun notes the settings that a start began with.
func (r *Run) begun(v settings.Values) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = v
}

// SettingsError ends a run whose settings cannot be served.
type SettingsError struct{ Err error }

// Error names the setting.
func (e *SettingsError) Error() string { return e.Err.Error() }

// Unwrap is what went wrong.
func (e *SettingsError) Unwrap() error { return e.Err }

// patience is how long what is in progress may go on once the run is to stop: nearly
// every iteration ends by then, and nothing of it is lost.
const patience = 300 * time.Millisecond

// Start runs the loop on its goroutine until it is done, ctx ends or Stop is called.
// Then the iteration in progress ends, or is cut short where it takes long; so is
// everything else that does.
func (r *Run) Start(ctx context.Context) {
	cut, end := context.WithCancel(context.WithoutCancel(ctx))
	hurry := func() { time.AfterFunc(patience, end) }
	forget := context.AfterFunc(ctx, hurry)
	r.mu.Lock()
	r.cut, r.hurry = cut, hurry
	r.mu.Unlock()
	go func() {
		defer close(r.done)
		defer end()
		defer forget()
		err := r.guard(ctx, cut)
		r.mu.Lock()
		r.err = err
		r.mu.Unlock()
	}()
}

// guard turns a panic of the loop into an error, so that the terminal and the
// recording are closed in order. ctx ends the run between two iterations, cut in the
// middle of what takes long.
func (r *Run) guard(ctx, cut context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
			r.loop.abandonAblation("the run failed")
			r.stream.State(profiles.Failed, err.Error())
		}
	}()
	if !r.prepared {
		if err := r.prepare(cut); err != nil {
			if cut.Err() != nil {
				r.stream.State(profiles.Stopped, "")
				return nil
			}
			err = &SettingsError{err}
			r.stream.State(profiles.Failed, err.Error())
			return err
		}
	}
	return r.loop.iterateUntilDone(ctx, cut)
}

// PanicError is a panic of the loop.
type PanicError struct {
	Value any
	Stack []byte
}

// Error tells the panic in one line; Stack has the rest.
func (e *PanicError) Error() string { return fmt.Sprintf("the run panicked: %v", e.Value) }

// Next runs one iteration of a run that was not started, on the caller's goroutine,
// after the commands that wait: as the loop does, for those who measure iteration by
// iteration. rec is what it recorded, and is valid until the next call; done is true
// once there is nothing more to do. Close ends the run.
func (r *Run) Next(ctx context.Context) (rec *profiles.Iteration, done bool, err error) {
	if r.loop.index == 0 {
		r.stream.State(profiles.Running, "")
	}
	if r.loop.finished {
		return nil, true, nil
	}
	if stop, err := r.loop.obey(ctx, ctx); stop || err != nil {
		return nil, true, errors.Join(err, ctx.Err())
	}
	if err := r.loop.iterate(ctx); err != nil {
		return nil, true, err
	}
	return &r.loop.rec, r.loop.finished, r.loop.failure
}

// Steps are the timed steps of the newest iteration of a workload that is a Profiler;
// none of any other. Only the goroutine that calls Next may ask.
func (r *Run) Steps() ([]profiles.Layer, []int64) {
	if p, ok := r.loop.work.(workload.Profiler); ok {
		return p.Steps()
	}
	return nil, nil
}

// Info describes the run. Only the goroutine that calls Next may ask.
func (r *Run) Info() profiles.RunInfo { return r.loop.info }

// Memory is what the run holds. Only the goroutine that calls Next may ask.
func (r *Run) Memory() profiles.Memory { return r.loop.work.Memory() }

// Done is closed when the loop has ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// Wait waits for the end of the loop. Its error is nil when the run finished or
// was stopped.
func (r *Run) Wait() error {
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Threads is the number of threads that the kernels run on.
func (r *Run) Threads() int {
	if device := r.loop.work.Device(); device != nil {
		return device.Threads()
	}
	return 1
}

// Close frees the memory of a run that has ended.
func (r *Run) Close() { r.loop.close() }

// WriteReconstruction writes the reconstruction of a run that has ended to
// base.png (16 bit) and base.npy, or to base.npy alone with an error where it is not
// finite. It returns the paths that were written: none where ctx ended before.
func (r *Run) WriteReconstruction(ctx context.Context, base string) ([]string, error) {
	return r.loop.write(ctx, base, false)
}

// errEnded refuses a command to a run whose loop is gone.
var errEnded = errors.New("the run is over for good; start prismtop again")
