// Package sim runs a reconstruction on its own goroutine and lets others change
// its settings between iterations.
//
// The run writes its measurements to a stream.Stream and never waits for a
// reader. Commands (profiles.Command) can be queued by any goroutine and are executed at
// the next iteration boundary.
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
	"prismtop/profiles/unit"
	"prismtop/sim/workload"
)

// A run: its options, its goroutine, its errors, and what others may ask of it directly.

// Options configures a run and its observation.
type Options struct {
	Maker    workload.Maker // of the workload
	Settings settings.Values
	Stream   *stream.Stream

	// SaveTo is the path of the .png and .npy files written by Save, without
	// extension; empty means "prismtop-" and the object's name in the working folder.
	// If the name is taken, -2, -3, … is appended.
	SaveTo string

	// GPUReason returns the reason why no GPU can be used; empty if one can. It may wait for the driver, and is called
	// by the goroutine that prepares the run. nil stands for an empty reason.
	GPUReason func() string

	// Roofs returns the machine's peak rates for kernels on a number of threads,
	// nil if they were not measured. The layers are judged by them. Roofs may be
	// nil, and is called by the run's goroutine when settings change.
	Roofs func(kernels string, threads int) workload.Judge

	// Needs is called before each start and returns the memory in bytes that a run of the settings will hold, and
	// the memory that is available; either is 0 if unknown. It may be nil.
	Needs func(ctx context.Context, v settings.Values) (needs, available int64)

	// Foresee logs how long the run takes at most, as soon as the pace of its iterations is known. A screen
	// shows the time left, and a line of the log in between could hide an answer there.
	Foresee bool

	// Trial means that the run is only measured: a task that is complete leaves nothing for others.
	Trial bool

	// Notes are the first lines of the log.
	Notes []string

	// KeepOutput ensures that there is a reconstruction to write after a run was
	// stopped within a long iteration, at the cost of one copy per long iteration.
	KeepOutput bool

	// Checkpoints says when and where checkpoints are written.
	Checkpoints Checkpoints

	// Resume is the checkpoint from which the run goes on; nil begins a new one. Settings may
	// differ from the checkpoint's in live ones only.
	Resume *Resumed

	// Weights is a file of weights from which every start begins; empty draws them from the
	// seed.
	Weights string

	// Linger keeps a finished run available for Save and Restart until Stop.
	Linger bool

	// EndTuned ends the run once the auto-tuner has chosen.
	EndTuned bool

	// Metrics is the interval at which the reconstruction is compared with the
	// truth between the ends of samples; 0 means only at the ends.
	Metrics time.Duration
}

// Run is a reconstruction under way. Its methods may be called from any goroutine.
type Run struct {
	options Options
	cut     context.Context // ends shortly after the run was told to stop
	hurry   func()          // ends cut; nil before Start
	stream  *stream.Stream
	inputs  workload.Inputs // nil until loaded

	prepared bool

	mu       sync.Mutex
	wanted   settings.Values // for the next start, once the queue is executed
	started  settings.Values // with which the current start began
	commands []command
	asking   int // changes of settings that are queued and not carried out
	notes    profiles.NoteCount
	err      error

	pending atomic.Bool   // commands are queued
	over    atomic.Bool   // finished or failed: waits for a restart
	once    atomic.Bool   // it cannot be restarted: no setting waits for a next run
	wake    chan struct{} // ends the wait of a paused run
	done    chan struct{}

	loop loop
}

// New loads the picture, compiles the plans and prepares everything, but does not start
// the run. Errors name the setting or the file; if ctx ends first, its error is
// returned.
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

// Open is New for a screen that must appear at once: slow preparation is left to
// Start. Only a picture file is read here. Errors in the settings that New would
// return, but that are found after Open, are returned by Wait as a SettingsError.
func Open(ctx context.Context, o Options) (*Run, error) {
	if err := o.Settings.Validate(); err != nil {
		return nil, err
	}
	if err := o.Maker.Check(o.Settings, settings.Device); err != nil {
		return nil, err
	}
	o.Settings = o.Settings.Settled()
	if o.Resume != nil {
		if err := o.Resume.Check(o.Settings); err != nil {
			return nil, err
		}
	}
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

// begun records the settings with which a start began.
func (r *Run) begun(v settings.Values) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = v
}

// SettingsError ends a run whose settings cannot be used.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }

func (e *SettingsError) Unwrap() error { return e.Err }

// WeightsError reports that a run cannot start from Options.Weights.
type WeightsError struct{ Err error }

func (e *WeightsError) Error() string { return e.Err.Error() }

func (e *WeightsError) Unwrap() error { return e.Err }

// patience is how long current work may continue once the run must stop: nearly
// every iteration ends by then, and nothing is lost.
const patience = 300 * time.Millisecond

// checkpointPatience is patience for a run that leaves a checkpoint.
const checkpointPatience = 10 * time.Second

// patience returns how long the current iteration may continue once the run must stop. A state
// within an iteration is none to go on from, so that a checkpoint waits for its end.
func (r *Run) patience() time.Duration {
	if r.options.Checkpoints.Path != "" {
		return checkpointPatience
	}
	return patience
}

// Start runs the loop on its goroutine until it is done, ctx ends or Stop is called.
// The current iteration is then finished, or cut short if it takes long, as is any
// other long operation.
func (r *Run) Start(ctx context.Context) {
	cut, end := context.WithCancel(context.WithoutCancel(ctx))
	hurry := func() { time.AfterFunc(r.patience(), end) }
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
// recording are closed in order. The end of ctx stops the run between two
// iterations, that of cut within long operations.
func (r *Run) guard(ctx, cut context.Context) (err error) {
	defer r.loop.checkpoints.wait()
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
			r.loop.panicked()
			r.loop.endFork("the run failed")
			r.loop.comparing.abandon("the run failed")
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

func (e *PanicError) Error() string { return fmt.Sprintf("the run panicked: %v", e.Value) }

// Next runs one iteration of a run that was not started, on the caller's goroutine,
// after executing the queued commands like the loop: for callers that measure
// iteration by iteration. rec is its record, valid until the next call; done is true
// once there is nothing more to do. Close ends the run.
func (r *Run) Next(ctx context.Context) (rec *profiles.Iteration, done bool, err error) {
	if r.loop.index == 0 {
		r.stream.State(profiles.Running, "")
	}
	if r.loop.finished {
		return nil, true, nil
	}
	for {
		stop, err := r.loop.obey(ctx, ctx)
		if err = r.loop.mend(ctx, err); stop || err != nil {
			return nil, true, errors.Join(err, ctx.Err())
		}
		if err := r.loop.mend(ctx, r.loop.iterate(ctx)); err != nil {
			return nil, true, err
		}
		if !r.loop.waits {
			return &r.loop.rec, r.loop.finished, r.loop.failure
		}
	}
}

// Steps returns the timed steps of the newest iteration if the workload is a
// Profiler, else none. Only the goroutine that calls Next may call it.
func (r *Run) Steps() ([]profiles.Layer, []int64) {
	if p, ok := r.loop.work.(workload.Profiler); ok {
		return p.Steps()
	}
	return nil, nil
}

// Info describes the run. Only the goroutine that calls Next may call it.
func (r *Run) Info() profiles.RunInfo { return r.loop.info }

// Memory returns the memory held by the run. Only the goroutine that calls Next
// may call it.
func (r *Run) Memory() profiles.Memory { return r.loop.memory() }

// Quality compares the newest result with the truth; NaN where the workload cannot. Only the
// goroutine that calls Next may call it.
func (r *Run) Quality(ctx context.Context) (profiles.Values, error) {
	if c, ok := r.loop.work.(workload.Comparer); ok {
		return c.Quality(ctx)
	}
	return profiles.NoValues(), nil
}

// GradientNorm returns the Euclidean norm of all gradients of the newest iteration; known is false where they are
// not stored. Only the goroutine that calls Next may call it.
func (r *Run) GradientNorm() (norm float64, known bool) {
	if t, ok := r.loop.work.(workload.Trained); ok {
		return t.GradientNorm()
	}
	return 0, false
}

// Picture returns the newest state of one of the schema's pictures, nil if the workload has none.
// Only the goroutine that calls Next may call it.
func (r *Run) Picture(id int) *profiles.Picture {
	if i, ok := r.loop.work.(workload.Imager); ok {
		return i.Picture(id)
	}
	return nil
}

// ClearCache drops the entries of one of the workload's caches. Only the goroutine that calls Next
// may call it.
func (r *Run) ClearCache(id profiles.CacheID) {
	if c, ok := r.loop.work.(workload.Clearer); ok {
		c.ClearCache(id)
	}
}

// clearCaches clears every cache of the workload for a user, and logs what they held.
func (l *loop) clearCaches() {
	c, ok := l.work.(workload.Clearer)
	if !ok {
		l.decline("nothing to clear: this workload has no caches")
		return
	}
	held := l.work.Memory().Caches
	for id := range l.info.Schema.Caches {
		c.ClearCache(profiles.CacheID(id))
	}
	now := l.memory()
	l.run.stream.Log("all caches cleared: " + unit.Size(max(0, held-now.Caches)) + " freed")
	l.run.stream.Memory(now)
}

// Done is closed when the loop has ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// Wait waits for the end of the loop. Its error is nil if the run finished or was
// stopped.
func (r *Run) Wait() error {
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Threads returns the number of threads that the kernels run on.
func (r *Run) Threads() int {
	if device := r.loop.work.Device(); device != nil {
		return device.Threads()
	}
	return 1
}

// Close frees the memory of a run that has ended.
func (r *Run) Close() { r.loop.close() }

// WriteReconstruction writes the reconstruction of a run that has ended to
// base.png (16 bit) and base.npy, or, with an error, to base.npy alone if it is not
// finite. Nothing was written if ctx ended first.
func (r *Run) WriteReconstruction(ctx context.Context, base string) (Saved, error) {
	return r.loop.write(ctx, base, false)
}

// errEnded is returned for a command to a run whose loop has ended.
var errEnded = errors.New("the run is over for good; start prismtop again")
