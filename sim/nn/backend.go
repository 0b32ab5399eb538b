package nn

import "context"

// A Backend runs plans on a device. What takes long ends early, with the error of its
// context, once that is done.
type Backend interface {
	// Name identifies the device and its kernels for people: "cpu go ×2".
	Name() string

	// Device is the device's kind, a value of the setting of that name: "cpu".
	Device() string

	// Kernels names the kernels in use: "avx512". One device may have several.
	Kernels() string

	// Threads is the number of the host's threads that the kernels run on, at least 1.
	Threads() int

	// SetThreads changes the number of threads, bounded to what the backend can have; a
	// device that does not compute on the host's threads ignores it. It may be called
	// while a plan runs. Results do not depend on it.
	SetThreads(n int)

	// NewState allocates the variables and sets them to their initial values.
	NewState(ctx context.Context, variables []Variable) (State, error)

	// Load binds a plan to a state of the same variables and allocates its
	// arena. An operator without a kernel for its operands is an error.
	Load(ctx context.Context, plan *Plan, state State) (Executable, error)

	// Close ends what the backend started. States and executables are closed before. A
	// second Close does nothing.
	Close()
}

// State holds the variables of one model on a device. Gradients need memory only while an
// executable is loaded whose plan stores them; at other times they read as zeros.
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
	// context's error as soon as it can, even within a step; the buffers, and the
	// variables of the state, are undefined then, and the executable is to be closed.
	Run(ctx context.Context, s Segment) error

	// StepNanos is the time that each step of the plan took when it last ran,
	// in nanoseconds, measured on the device; the slice is reused.
	StepNanos() []int64

	// Write copies src to a buffer (an input of the plan), Read copies a buffer
	// (an output) to dst; both are float32 of the buffer's number of elements,
	// twice that for a complex64 buffer.
	Write(b BufferID, src []float32)
	Read(b BufferID, dst []float32)

	// Map is the memory of a float32 buffer (an input of the plan) that the caller
	// writes before the next Run, in place of Write; nil where it has to be Write.
	Map(b BufferID) []float32

	// ScratchBytes is the memory the backend holds beside the plan's arena.
	ScratchBytes() int64

	// Close frees the arena.
	Close()
}
