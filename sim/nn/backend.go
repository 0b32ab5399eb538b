package nn

import (
	"context"
	"errors"
)

// A Backend runs plans on a device. Long operations return early with the context's
// error once the context is done.
type Backend interface {
	// Name identifies the device and its kernels for display: "cpu go ×2".
	Name() string

	// Device is the device's kind, a value of the setting of that name: "cpu".
	Device() string

	// Kernels names the kernels in use: "avx512". One device may have several.
	Kernels() string

	// Threads is the number of the host's threads that the kernels run on, at least 1.
	Threads() int

	// SetThreads changes the number of threads, within the backend's limits; a device
	// that does not compute on the host's threads ignores it. It may be called while a
	// plan runs. Results do not depend on it.
	SetThreads(n int)

	// NewState allocates the variables and sets them to their initial values.
	NewState(ctx context.Context, variables []Variable) (State, error)

	// Load binds a plan to a state of the same variables and allocates its
	// arena. It is an error if operands do not fit (Plan.Check), or an operator has no kernel for them.
	Load(ctx context.Context, plan *Plan, state State) (Executable, error)

	// LoadBeside is Load with the memory of an executable of the same state, as far as
	// that is large enough. Of the two only one runs at a time. A run leaves the other's
	// buffers undefined, inputs and outputs included. They may be closed in any order.
	LoadBeside(ctx context.Context, plan *Plan, state State, beside Executable) (Executable, error)

	// Close releases the backend's resources. States and executables must be closed
	// first. A second Close does nothing.
	Close()
}

// State holds the variables of one model on a device. Gradients take memory only while an
// executable whose plan stores them is loaded; at other times they read as zeros.
type State interface {
	// Read copies variable v to dst, which has its number of elements.
	Read(v int, dst []float32)
	// Write copies src to variable v.
	Write(v int, src []float32)
	// Zero sets variable v to zeros.
	Zero(ctx context.Context, v int) error
	// Close frees the memory.
	Close()
}

// Executable is a plan bound to memory. It is used by one goroutine at a time.
type Executable interface {
	// Run executes the steps of one segment. When ctx ends first it returns the
	// context's error as soon as it can, even within a step; the buffers and the
	// state's variables are then undefined, and the executable must be closed.
	Run(ctx context.Context, s Segment) error

	// StepNanos returns the time that each step of the plan took in its last run,
	// in nanoseconds, measured on the device; the slice is reused.
	StepNanos() []int64

	// Write copies src to a buffer (an input of the plan), Read copies a buffer
	// (an output) to dst; both hold one float32 per element of the buffer, two
	// for complex64.
	Write(b BufferID, src []float32)
	Read(b BufferID, dst []float32)

	// Map returns the memory of a float32 buffer (an input of the plan), which the
	// caller fills before the next Run instead of calling Write. It returns nil if
	// only Write is supported.
	Map(b BufferID) []float32

	// ScratchBytes returns the memory the backend holds in addition to the plan's
	// arena; for an executable loaded beside another, what it has of its own.
	ScratchBytes() int64

	// Close frees the arena.
	Close()
}

// Detailer is an executable of a device that computes beside the host. Run returns before the steps are done, Read
// waits for what it reads, and StepNanos is of the newest run of each segment that has ended. The time of consecutive
// steps of a phase is that of the first of them, unless steps are timed one by one, which takes longer.
type Detailer interface {
	// Detail switches the timing of every step on or off, from the next Run on.
	Detail(on bool)

	// Settle waits until every segment that was run has ended.
	Settle(ctx context.Context) error
}

// Explainer is an executable that knows which of several kernels computes a step.
type Explainer interface {
	// Kernels returns the kernel of each step of the plan; "" for operators that have one.
	Kernels() []string
}

// Copier is an executable of a device that computes beside the host, which takes an input from another executable
// there.
type Copier interface {
	// Copy copies buffer from of another executable of the same backend, as its newest run left it, to buffer to (an
	// input of the plan) of the same shape and type. It returns before the copy is done.
	Copy(to BufferID, other Executable, from BufferID) error
}

// Fallible is a backend whose device can fail. State.Read, State.Write, Executable.Read and Executable.Write return no
// error: after one, Read leaves its destination alone.
type Fallible interface {
	// Failure returns the error of an operation that could not return it, or that of a device that is lost; nil for
	// none.
	Failure() error

	// Remarks returns what a user should know of the backend, such as why it is slower than it could be.
	Remarks() []string
}

// Factoring is a backend that keeps gradients of plans with Options.Factored as their factors.
type Factoring interface{ Factors() }

// Bounded is a backend that cannot transform every line.
type Bounded interface {
	// LongestTransform returns the most numbers of a line of an FFT.
	LongestTransform() int
}

// Lost reports whether an error means that a device is lost: nothing on it can be read any more.
func Lost(err error) bool {
	var lost interface{ Lost() }
	return errors.As(err, &lost)
}

// Short reports whether an error means that a device has too little memory.
func Short(err error) bool {
	var memory interface{ Short() (asked, free int64) }
	return errors.As(err, &memory)
}
