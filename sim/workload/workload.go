// Package workload defines the interface of a workload: what a run iterates, and how
// it is made from settings. Each workload implements it in its own folder.
package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/checkpoint"
	"prismtop/sim/weights"
)

// Task is the work of one run, iteration by iteration. It is not safe for concurrent use.
//
// Long operations end early with the error of their context once that is done.
// After that, only the newest complete result can be read and the task closed.
//
// A task may implement optional interfaces: Comparer, Imager, Clearer, Profiler, Saver, Keeper,
// Forker, Checkpointer, Starter, Lister, Finisher, Converger and Recoverer.
type Task interface {
	// Info describes the run for its observers, above all its schema.
	Info() profiles.RunInfo

	// Device returns the device of the computation; nil if that is the run's
	// goroutine alone.
	Device() Device

	// Iterate runs one iteration and fills in the record's measurements: kind, unit,
	// flags, phases, series and caches. It must not be called after Finished or an error.
	Iterate(ctx context.Context, rec *profiles.Iteration) (Outcome, error)

	// Apply applies changed settings. Only live ones differ from the previous
	// settings. After a RefusedError the task goes on under the previous ones.
	Apply(ctx context.Context, v settings.Values) error

	// Memory returns the memory of the run, by category of the schema.
	Memory() profiles.Memory

	// Close frees the memory and everything started by New.
	Close()
}

// Outcome is the result of an iteration.
type Outcome struct {
	UnitEnded     bool
	Result        profiles.UnitResult // of the unit that ended
	Measured      profiles.Values     // at its end, or if Measures is set
	Measures      bool                // Measured is of an iteration within a unit
	StageEnded    bool                // a stage is over
	MemoryChanged bool                // the division of memory changes from here on
	TasksChanged  bool                // of a Lister
	Finished      bool
	Unwatched     bool // of a task that goes on without being watched
	// there was none: the task found that it is finished before one began or, where Finished is false, waits for one
	NoIteration bool
	// Late are measurements of iterations before this one: −1 is the one before it.
	Late []profiles.Measurement

	Grown  *profiles.Schema    // the schema from here on, if it has more than before: see profiles.Grown
	Said   []profiles.LogEntry // lines for the log, after the iteration
	Ranks  *profiles.Ranks     // their new state; nil for none
	Forced *settings.Values    // that the task put in force by itself, before the next iteration; nil for none
	Layers []profiles.Layer    // of a task that times its own layers, with their times; nil for none
}

// ErrDiverged ends a run whose loss is no longer finite: an error of Iterate that wraps
// it is a regular end of a run, not a failure of the program.
var ErrDiverged = errors.New(profiles.Diverged + ": the loss is not a number")

// Device is the device on which a task is computed. An nn.Backend is one.
type Device interface {
	Device() string   // "cpu"
	Kernels() string  // "avx512"
	Threads() int     // of the host
	SetThreads(n int) // between two iterations
}

// DeviceHolder is a Device with memory of its own, such as a GPU.
type DeviceHolder interface {
	// DeviceMemory returns the memory that is held on the device. It is called between two iterations, and must not
	// wait for the device. A Task that knows more, such as which cache holds what, returns it in Memory.
	DeviceMemory() profiles.DeviceMemory
}

// OwnMemory reports whether a device has memory of its own.
func OwnMemory(d Device) bool {
	_, holds := d.(DeviceHolder)
	return holds
}

// DeviceMeter is a DeviceHolder that reads how much of its memory is in use.
type DeviceMeter interface {
	// MemoryInUse returns the bytes in use by all programs, but for those that make room when they are needed, and all
	// that the device has. It is called between two iterations, and must not wait for the device.
	MemoryInUse() (used, all int64, known bool)
}

// PeakHolder is a DeviceHolder that knows the most memory which it had allocated at once, in bytes.
type PeakHolder interface {
	// PeakMemory returns what is allocated now, and the most since the last ResetPeak.
	PeakMemory() (allocated, most int64)

	// ResetPeak makes what is allocated now the most.
	ResetPeak()
}

// Comparer is a task whose result can be compared with the truth.
type Comparer interface {
	// Quality returns the occasionally measured series for the newest result.
	Quality(ctx context.Context) (profiles.Values, error)
}

// Imager is a task with pictures.
type Imager interface {
	// Picture returns a copy of the newest state of one of the schema's pictures; nil if the device failed, whose error
	// the next operation returns.
	Picture(id int) *profiles.Picture
}

// Clearer is a task with caches.
type Clearer interface {
	// ClearCache drops the entries of one of the schema's caches, between two iterations. Its
	// counters stay.
	ClearCache(profiles.CacheID)
}

// Profiler is a task whose iterations consist of timed steps.
type Profiler interface {
	// Steps returns the steps of the current plan, without times, and the nanoseconds each
	// took in the newest iteration. Every plan has its own first slice; the second is
	// reused.
	Steps() (steps []profiles.Layer, nanos []int64)
}

// Trained is a task whose gradients can be read.
type Trained interface {
	// GradientNorm returns the Euclidean norm of all gradients of the newest iteration; known is false if they were
	// not stored. It reads them once.
	GradientNorm() (norm float64, known bool)
}

// Saver is a task whose result can be written to files.
type Saver interface {
	// Save writes the newest result to files named after base, and returns the paths that
	// were written: only new files if fresh.
	Save(ctx context.Context, base string, fresh bool) ([]string, error)
}

// SavedComparer is a Saver that compares what it saves with the truth: it may be of weights that the newest iteration
// updated after its forward pass, of which nothing was measured.
type SavedComparer interface {
	// SavedQuality returns the occasionally measured series for what the newest Save has written; NaN if they are not
	// known.
	SavedQuality() profiles.Values
}

// Keeper is a task that can keep a complete result while it works on the next.
type Keeper interface{ KeepOutput() }

// Forker is a task that can go back to where it was, bit for bit, so that two settings can be
// compared over the same iterations from the same point.
type Forker interface {
	// Mark keeps where the task is. It is an error where that cannot be, such as between two
	// units; a later iteration may do, unless the error is a RefusedError. No unit ends until Unmark.
	Mark(ctx context.Context) error

	// Return goes back to the mark, under the settings in force.
	Return(ctx context.Context) error

	// Unmark forgets the mark.
	Unmark()
}

// Fixed is a Forker that may be unable to go back for a reason of its own.
type Fixed interface {
	// Fixed returns why the task cannot be marked, nil if it can.
	Fixed() error
}

// Checkpointer is a task that can go on in another process, bit for bit.
type Checkpointer interface {
	// Checkpoint returns the state between two iterations, of which the task keeps nothing. It
	// is not called after an error of Iterate.
	Checkpoint(ctx context.Context) (*checkpoint.State, error)

	// Resume puts a new task of the same settings into the state of a checkpoint. It is an error
	// if the checkpoint is not one of these settings and inputs; the task can then only be
	// closed.
	Resume(ctx context.Context, c *checkpoint.Checkpoint) error
}

// Starter is a task that can start from given weights.
type Starter interface {
	// StartFrom replaces the weights of a new task by those of a file, and leaves out what
	// prepares drawn weights. It returns lines for the log about the file.
	StartFrom(ctx context.Context, path string) (said []string, err error)
}

// Lister is a task that works through a list of tasks.
type Lister interface {
	// Tasks returns a copy of the state of the list.
	Tasks() *profiles.Tasks
}

// Unweighted is a maker whose tasks begin with weights of files that are found by the settings.
type Unweighted interface {
	// WithoutWeights returns a maker whose tasks read none, for those that StartFrom gives others.
	WithoutWeights() Maker
}

// Finisher is a task that leaves something for other programs once its work is complete.
type Finisher interface {
	// Finish leaves it, after the iteration whose outcome is Finished, and returns a line for
	// the log; empty for nothing. An error fails the run, which can still be saved and has its
	// checkpoint: it is complete.
	Finish(ctx context.Context) (said string, err error)
}

// Converger is a task that may converge in some of its stages only.
type Converger interface {
	// MayConverge reports whether what is left of the task, or of a unit of work in it, may end before its limits.
	MayConverge() bool
}

// Timekeeper is a task whose Iterate also fills in Start and Total of the record: the times of an iteration that it has
// waited for.
type Timekeeper interface {
	// Began returns a time before which none of its iterations began, which may be before it was made.
	Began() time.Time
}

// Trier is a task whose settings another process applies.
type Trier interface {
	// Try is Apply for an experiment. Should this process die, base is put in force without it.
	Try(ctx context.Context, v, base settings.Values) error
}

// Scheduler is a Trier whose process can run several blocks of a comparison by itself, exactly as long as they are.
type Scheduler interface {
	// Plan is told before each iteration of a comparison which blocks come next, the first being the one under way;
	// none if that is not known, or at its end. Base is in force after the last of them, whatever happens to this
	// process.
	Plan(ctx context.Context, blocks []profiles.Block, base settings.Values) error
}

// Tracer is a task whose program has a profiler that can write a trace.
type Tracer interface {
	Trace(ctx context.Context) error
}

// Unable is a task that some commands make no sense for, whatever else it is able to.
type Unable interface{ Unable() []profiles.CommandKind }

// Pauser is a task that goes on by itself between two iterations, unless it is told to pause.
type Pauser interface {
	Pause(ctx context.Context, paused bool) error

	// Behind reports whether iterations that were over before the task paused are still to be returned.
	Behind() bool
}

// Recoverer is a task whose device can fail while it runs.
type Recoverer interface {
	// Fallback returns which of the settings v must change for the task to continue under them after an error of one of
	// its methods; ok is false if it cannot continue.
	Fallback(err error, v settings.Values) (sets []settings.Assignment, ok bool)

	// Recover continues from the newest state that is known to be good, under settings with those of Fallback.
	Recover(ctx context.Context, v settings.Values) (Recovered, error)
}

// Recovered is where a task continues after its device failed.
type Recovered struct {
	Lost int64 // iterations
	Unit int32 // of the next iteration: it and those after it are trained again
}

// Remarker is a task whose device has something that a user should know.
type Remarker interface {
	// Remarks returns lines for the log, after Apply moved the task to another device. Those of the first device are
	// among the notes of Info.
	Remarks() []string
}

// RefusedError is an error of Apply that changed nothing.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

func (e *RefusedError) Unwrap() error { return e.Err }

// Refused reports whether an error of a task is that of settings which it refused: it keeps its previous ones.
func Refused(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused)
}

// Namer is an Exporter whose network other programs have under other names.
type Namer interface {
	// Names returns the names of the arrays that Weights returns, in their order.
	Names(v settings.Values) ([]weights.Names, error)
}

// Exporter is a maker whose tasks have weights.
type Exporter interface {
	// Weights returns the weights of a checkpoint, by their names in PyTorch, given its
	// settings.
	Weights(v settings.Values, c *checkpoint.Checkpoint) ([]weights.Tensor, error)
}

// Folder is an Exporter that can fold normalisations into the weights before them.
type Folder interface {
	// FoldedWeights is Weights without the normalisations, which had the running statistics of training, or those
	// of the newest batch.
	FoldedWeights(ctx context.Context, v settings.Values, c *checkpoint.Checkpoint, running bool) ([]weights.Tensor,
		error)
}

// Maker makes tasks from settings. It is safe for concurrent use.
type Maker interface {
	// Load reads or draws the inputs named by the settings: pictures, data.
	Load(ctx context.Context, v settings.Values) (Inputs, error)

	// SameInputs reports whether two settings name the same inputs.
	SameInputs(a, b settings.Values) bool

	// Reads reports whether Load reads files, whose errors should be found at once.
	Reads(v settings.Values) bool

	// Check returns an error for a value of a setting that this machine does not
	// support.
	Check(v settings.Values, key string) error

	// FitsBeside reports whether a task of the settings fits into memory in addition to the
	// given number of bytes held now.
	FitsBeside(v settings.Values, held int64) bool

	// New prepares a task for its first iteration. Errors name the setting.
	New(ctx context.Context, v settings.Values, in Inputs) (Task, error)
}

// Inputs are the inputs of a task.
type Inputs interface {
	// Name returns their name: "moon", or a file's name.
	Name() string
}

// Judge compares steps with the machine's peak rates.
type Judge interface {
	// Shares returns the shares of the machine's arithmetic rate and bandwidth used by a
	// step with the given numbers of operations and bytes: 0 to 1, or above if data stayed
	// in a faster cache.
	Shares(flops, bytes int64, d time.Duration) (compute, memory float64)

	// Roofs returns the peak rates used for comparison.
	Roofs() *profiles.Roofs
}

// Foreseer is a maker that knows what memory a task would take before it makes one.
type Foreseer interface {
	// Needs returns the memory that a task comes to hold, by category; nothing of it is allocated.
	Needs(ctx context.Context, v settings.Values) (profiles.Memory, error)
}

// Bounded is a maker that knows how long a task would be before it makes one.
type Bounded interface {
	// Most returns the iterations of a task at most, 0 if that depends on its inputs, and whether it may end sooner
	// because it converges.
	Most(v settings.Values) (iterations int64, sooner bool)
}

// UnitsWithin returns a number of units of work, of the given name, within the limit of the settings.
func UnitsWithin(v settings.Values, units int64, many string) int64 {
	if key := settings.MaxUnits(many); v.Has(key) && v.Int(key) > 0 {
		return min(units, int64(v.Int(key)))
	}
	return units
}

// IterationsWithin returns a number of iterations within the limit of the settings, at most 2⁶².
func IterationsWithin(v settings.Values, most float64) int64 {
	if limit := v.Int(settings.MaxIterations); limit > 0 {
		most = min(most, float64(limit))
	}
	return int64(min(most, 1<<62))
}

// LackingError reports a device that settings ask for and this machine or this build does not have.
// The settings are valid elsewhere.
type LackingError struct{ Err error }

func (e *LackingError) Error() string { return e.Err.Error() }

func (e *LackingError) Unwrap() error { return e.Err }

// CheckDevice returns a LackingError about the setting of the device if that is a GPU which cannot be used. The reason
// is given by a function, which may wait for the driver; empty if the GPU can be used.
func CheckDevice(v settings.Values, gpuReason func(device string) string) error {
	device := v.Text(settings.Device)
	if device == "cpu" || device == "auto" || device == "" {
		return nil
	}
	reason := gpuReason(device)
	if reason == "" {
		return nil
	}
	return &settings.KeyError{Key: settings.Device, Err: &LackingError{fmt.Errorf("device = %s: %s; use auto or cpu",
		device, reason)}}
}
