// Package cpu runs plans on the processor.
//
// Load binds a plan once: every BufferID becomes a slice of the arena (or of the
// state's slab, for variables), every step a closure over the slices of its
// operands. Running a segment calls the closures in order and allocates nothing.
//
// The hot loops are in the rooms of vec, in plain Go or in assembly for the
// instruction set chosen by New; the other kernels are plain functions on slices,
// documented by the loop they compute. The binding methods (conv.go, batchnorm.go,
// …) check shapes, cut the work into ranges for the pool and close over the slices.
// Each element is computed by one call in a fixed order, so results are
// bit-identical for any number of threads.
//
// Buffers of a 16-bit type hold 2 bytes an element. A step with such operands is
// wrapped: they are widened to float32 scratch before the kernel and rounded to
// nearest even after it.
package cpu

import (
	"context"
	"fmt"
	"slices"

	"prismtop/profiles/machine"
	"prismtop/sim/cpu/features"
	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/choice"
	"prismtop/sim/cpu/vec/matrix"
	"prismtop/sim/nn"
)

// The backend: its options, its kernels by name, its threads.

// PlanSource returns the FFT plan for planes of h×w. It is called at every
// execution of an FFT step, by the goroutine that runs the plan, so a source that
// caches nothing makes every transform pay for its twiddles.
type PlanSource interface {
	Plan(h, w int) *fft.Plan
}

// Options configures a Backend. The zero value means all processors, the fastest
// kernels, and FFT plans made once per executable and step.
type Options struct {
	// Threads is the number of threads that kernels run on; 0 means one for each processor.
	Threads int

	// Kernels is a name that KernelNames returns, or "auto" or "" for the first.
	Kernels string

	// FFTPlans returns the FFT plans; nil means one plan per size, made at Load.
	FFTPlans PlanSource
}

// stripsAtOnce divided by the number of strips of a Fourier transform is the number of
// strips between checks of the context: with more strips, each takes longer. A field of
// 512 has 32 strips, and a chunk of it on two threads has 4.
const stripsAtOnce = 128

// maxThreads bounds Options.Threads, to catch typing errors.
const maxThreads = 1024

var _ interface {
	nn.Backend
	nn.Factoring
} = (*Backend)(nil)

var _ nn.Explainer = (*executable)(nil)

// Backend is the CPU as an nn.Backend. Its executables share its threads; one of
// them runs at a time.
type Backend struct {
	set      vec.Set
	tiles    matrix.Tiles
	tileWork int
	pairs    vec.Pairs
	pool     *pool.Pool
	parallel fft.Parallel
	plans    PlanSource
}

// CheckKernels returns the error that New would return for a kernel name.
func CheckKernels(name string) error {
	_, err := choice.Set(name)
	return err
}

// New starts the threads. Close ends them.
func New(o Options) (*Backend, error) {
	if o.Threads < 0 || o.Threads > maxThreads {
		return nil, fmt.Errorf("cpu backend: %d threads: must be 1 to %d, or 0 for all processors",
			o.Threads, maxThreads)
	}
	if o.Threads == 0 {
		o.Threads = machine.Processors()
	}
	set, err := choice.Set(o.Kernels)
	if err != nil {
		return nil, fmt.Errorf("cpu backend: %w", err)
	}
	p := pool.New(o.Threads)
	return &Backend{
		set:      set,
		tiles:    choice.Tiles(o.Kernels),
		tileWork: tileWork,
		pairs:    choice.Pairs(o.Kernels),
		pool:     p,
		parallel: func(n int, body func(lo, hi int)) { p.ForPieces(n, 1, max(stripsAtOnce/n, 1), body) },
		plans:    o.FFTPlans,
	}, nil
}

// KernelNames returns the kernels of this build that this processor can run, fastest
// first. Products of pairs of bfloat16 come after the first where they are slow; "go" comes last.
func KernelNames() []string {
	var names []string
	for _, set := range vec.Available() {
		names = append(names, set.String())
	}
	switch pairs, faster, _ := choice.DetectPairs(); {
	case pairs == vec.NoPairs:
	case faster:
		names = slices.Insert(names, 0, choice.BF16Name)
	default:
		names = slices.Insert(names, 1, choice.BF16Name)
	}
	if tiles, _ := matrix.DetectTiles(); tiles == matrix.AMX {
		names = slices.Insert(names, 0, choice.AMXName)
	}
	return names
}

// Processor describes this processor. If it has AMX but the kernels cannot use it,
// the description says why.
func Processor() machine.CPU {
	processor := features.Detect()
	for i, s := range processor.Sets {
		if _, err := matrix.DetectTiles(); err != nil && s.Name == choice.AMXName && s.Available {
			processor.Sets[i] = machine.Support{Name: s.Name, Reason: "the processor offers it, but " + err.Error()}
		}
	}
	return processor
}

// Name returns the device, its kernels and its threads: "cpu avx512 ×2".
func (b *Backend) Name() string { return fmt.Sprintf("cpu %s ×%d", b.Kernels(), b.Threads()) }

// Factors marks the backend as nn.Factoring.
func (b *Backend) Factors() {}

// Device returns "cpu".
func (b *Backend) Device() string { return "cpu" }

// Kernels returns the name of the kernels in use, one of KernelNames.
func (b *Backend) Kernels() string {
	if b.tiles == matrix.AMX {
		return choice.AMXName
	}
	if b.pairs == vec.BF16 {
		return choice.BF16Name
	}
	return b.set.String()
}

// Set returns the instruction set of the kernels in use, for work outside the
// plans.
func (b *Backend) Set() vec.Set { return b.set }

// Threads is the number of threads in use.
func (b *Backend) Threads() int { return b.pool.Threads() }

// SetThreads changes the number of threads, bounded to 1 … 1024. It may be called
// while a plan runs; it takes effect at a kernel's next loop. Results do not
// depend on it.
func (b *Backend) SetThreads(n int) { b.pool.SetThreads(min(max(n, 1), maxThreads)) }

// Close stops the threads. Executables still work afterwards, on one thread.
func (b *Backend) Close() { b.pool.Close() }

// Parallel spreads a loop over the backend's threads, for work outside the plans.
func (b *Backend) Parallel() fft.Parallel { return b.parallel }

// Attach makes loops of Parallel end early, with undefined results, once ctx is
// done, and returns the previously attached context; nil detaches. Running a plan
// attaches that run's context.
func (b *Backend) Attach(ctx context.Context) (before context.Context) { return b.pool.Attach(ctx) }
