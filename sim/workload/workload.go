// Package workload says what a workload is: what a run iterates, and how it is made of
// settings. Each workload implements it in a folder of its own.
package workload

import (
	"context"
	"errors"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// Task is the work of one run, an iteration after the other. It is used by one goroutine.
//
// What takes long ends early with the error of its context once that is done; then
// nothing is left to do but to look at the newest whole result and to close.
//
// A task that can do more says so by more methods: see Comparer, Imager, Profiler, Saver
// and Keeper.
type Task interface {
	// Info describes the run for those who watch it, its schema above all.
	Info() profiles.RunInfo

	// Device is what it is computed on; nil where that is the run's goroutine alone.
	Device() Device

	// Iterate runs one iteration and fills in what the record measures: kind, unit, flags,
	// phases, series and caches. After Finished, or an error, there is nothing more to
	// iterate.
	Iterate(ctx context.Context, rec *profiles.Iteration) (Outcome, error)

	// Apply takes over settings that changed. Only live ones differ from those before.
	Apply(ctx context.Context, v settings.Values) error

	// Memory is what the run holds, by category of the schema.
	Memory() profiles.Memory

	// Close frees the memory and ends what New started.
	Close()
}

// Outcome is what an iteration led to.
type Outcome struct {
	UnitEnded     bool
	Result        profiles.UnitResult // of the unit that ended
	Measured      profiles.Values     // at its end
	StageEnded    bool                // a stage is over
	MemoryChanged bool                // memory is divided differently from here on
	Finished      bool
}

// ErrDiverged ends a run whose loss is no longer a number: errors of Iterate that wrap it
// are how a run can end, not a failure of the program.
var ErrDiverged = errors.New("diverged: the loss is not a number")

// Device is what a task is computed on. An nn.Backend is one.
type Device interface {
	Device() string   // "cpu"
	Kernels() string  // "avx512"
	Threads() int     // of the host
	SetThreads(n int) // between two iterations
}

// Comparer is a task whose result can be compared with the truth.
type Comparer interface {
	// Quality is the series that are measured now and then, of the newest result.
	Quality(ctx context.Context) (profiles.Values, error)
}

// Imager is a task with pictures.
type Imager interface {
	// Picture is a copy of the newest state of one of the schema's pictures.
	Picture(id int) *profiles.Picture
}

// Profiler is a task whose iterations consist of timed steps.
type Profiler interface {
	// Steps are the steps of the present plan, without times, and the nanoseconds that each
	// took in the newest iteration. Another plan has another slice; the second is reused.
	Steps() (steps []profiles.Layer, nanos []int64)
}

// Saver is a task whose result can be written to files.
type Saver interface {
	// Save writes the newest result to files named after base, and returns the paths that
	// were written: those that did not exist before where fresh.
	Save(ctx context.Context, base string, fresh bool) ([]string, error)
}

// Keeper is a task that can keep a whole result while it works on the next.
type Keeper interface{ KeepOutput() }

// Forker is a task that can go back to where it was, bit for bit, so that two settings can be
// compared over the same iterations from the same point.
type Forker interface {
	// Mark keeps where the task is. It is an error where that cannot be, such as between two
	// units; a later iteration may do. No unit ends until Unmark.
	Mark(ctx context.Context) error

	// Return goes back to the mark, under the settings in force.
	Return(ctx context.Context) error

	// Unmark forgets the mark.
	Unmark()
}

// Maker makes tasks of settings. It may be used by several goroutines.
type Maker interface {
	// Load reads or draws what the settings name: pictures, data.
	Load(ctx context.Context, v settings.Values) (Inputs, error)

	// SameInputs says whether two settings name the same inputs.
	SameInputs(a, b settings.Values) bool

	// Reads says whether Load reads files, whose faults are better known at once.
	Reads(v settings.Values) bool

	// Check refuses the value of a setting that this machine cannot serve.
	Check(v settings.Values, key string) error

	// FitsBeside says whether a task of the settings fits into memory beside so many bytes
	// that are held now.
	FitsBeside(v settings.Values, held int64) bool

	// New prepares a task for its first iteration. Errors name the setting.
	New(ctx context.Context, v settings.Values, in Inputs) (Task, error)
}

// Inputs are what a task works on.
type Inputs interface {
	// Name is what they are called: "moon", or a file's name.
	Name() string
}

// Judge compares steps with what the machine can do at most.
type Judge interface {
	// Shares are what a step of so many operations and bytes used of the machine's
	// arithmetic and of its bandwidth: 0 to 1, or above where data stayed in a nearer cache.
	Shares(flops, bytes int64, d time.Duration) (compute, memory float64)

	// Roofs are what it compares with.
	Roofs() *profiles.Roofs
}
