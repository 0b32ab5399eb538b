// Package profiles is the data model of a run that is being watched: what one
// iteration measured, what changed, and the Snapshot that the screen draws.
//
// Data flows one way. The run writes fixed-size Iteration records into a Stream
// (a lossless single-producer ring) and never waits; the Aggregator drains it,
// and once per tick builds one immutable Snapshot.
package profiles

import "time"

// Phase is a part of an iteration whose time is measured by itself.
type Phase uint8

// The phases, in the order in which the screen lists them.
const (
	Forward   Phase = iota // decoder, forward
	Telescope              // both measurements of the output, and of the object when asked
	Loss                   // both losses and the stop rule
	Backward               // gradients of losses, telescope and decoder
	Optimizer              // Adam
	Metrics                // PSNR, SSIM, RMSE and the preview picture
	NumPhases
)

var phaseNames = [NumPhases]string{"forward", "telescope", "loss", "backward", "optimizer", "metrics"}

// String is the phase's name on screen and in JSON.
func (p Phase) String() string { return phaseNames[p] }

// Stage is the part of the reconstruction an iteration belongs to
// (spec/prism.md §5.1).
type Stage uint8

// The stages.
const (
	Initialising Stage = iota // the decoder learns the initial disc
	Progressive               // sub-apertures are added one by one
)

// String is the stage's name on screen.
func (s Stage) String() string {
	if s == Initialising {
		return "initialising"
	}
	return "progressive"
}

// CacheID names one of the caches.
type CacheID uint8

// The caches.
const (
	MeasurementCache CacheID = iota // measurements of the object through one aperture
	FFTPlans                        // twiddle factors per transform length
	Masks                           // aperture masks and coordinate grids
	NumCaches
)

// CacheCounters is a cache's state since the run began.
type CacheCounters struct {
	Enabled bool
	Hits    int64
	Misses  int64
	Entries int64
	Bytes   int64
	// Saved is the time that hits saved, in nanoseconds: for each hit the
	// measured cost of computing such an entry, less the cost of looking it up
	// (hashing included). It is negative where the cache costs more than it saves.
	Saved int64
	// Spent is what all lookups cost in nanoseconds, hashing and storing included, and
	// SpentSquares the sum of the squares of what each cost.
	Spent        int64
	SpentSquares float64
	// Price is what it takes to compute one of the largest entries, in nanoseconds:
	// the median of PricedBy computations. Priced are the hits of such entries, and
	// Gross is the part of Saved that they are worth.
	Price, PricedBy, Priced, Gross int64
	// PriceLow and PriceHigh are the ends of the median's 95 % interval, and GrossLow and
	// GrossHigh what the hits are worth at either end.
	PriceLow, PriceHigh, GrossLow, GrossHigh int64
	// CapacityMisses are the misses of what the cache had and dropped for room;
	// the others are of what it never had.
	CapacityMisses int64
}

// LookupCost is the mean time of a lookup in nanoseconds, hashing included and,
// after a miss, storing; ok is false when nothing was looked up.
func (c CacheCounters) LookupCost() (ns float64, ok bool) {
	n := c.Hits + c.Misses
	if n == 0 {
		return 0, false
	}
	return float64(c.Spent) / float64(n), true
}

// PriceLeast is how many computations make a price certain: fewer may all have met cold
// memory or a busy processor.
const PriceLeast = 5

// Uncertain says that Saved rests on fewer computations than that.
func (c CacheCounters) Uncertain() bool { return c.Priced > 0 && c.PricedBy < PriceLeast }

// HitRate is hits over lookups; ok is false when nothing was looked up.
func (c CacheCounters) HitRate() (rate float64, ok bool) {
	n := c.Hits + c.Misses
	if n == 0 {
		return 0, false
	}
	return float64(c.Hits) / float64(n), true
}

// Flags mark what was special about an iteration.
type Flags uint8

// The flags.
const (
	Converged   Flags = 1 << iota // the stop rule ended the sample: no backward, no optimizer
	SkippedStep                   // the gradient scaler found an overflow and skipped the update
	NonFinite                     // a loss was NaN or infinite
	Warmup                        // first iteration after a plan was compiled or a setting changed
)

// Iteration is what one iteration measured. It has a fixed size and no pointers.
// Times are nanoseconds.
type Iteration struct {
	Index    int64 // counts every iteration of the run from 0
	Stage    Stage
	Sample   int32 // index of the sub-aperture, 0-based; -1 while initialising
	InSample int32 // iteration within the sample, or within the initialisation
	Flags    Flags

	Start  int64            // since the run began
	Total  int64            // whole iteration, wall time, without Retimed
	Phases [NumPhases]int64 // a phase that did not run is 0

	LossOld, LossNew float64 // initialising: LossOld is NaN, LossNew the image-space loss
	LearningRate     float64
	GradientScale    float64 // 0 unless fp16

	// Retimed is what watching the caches took: time to compute again what they had,
	// which is in neither Total nor a phase.
	Retimed int64

	Changes uint32 // number of Changes made before this iteration: names its settings
	Caches  [NumCaches]CacheCounters
}

// Change is a setting that changed between two iterations.
type Change struct {
	Key           string // the setting's key, "amp"
	Before, After string
	Iteration     int64         // Index of the first iteration under the new value
	At            time.Duration // since the run began
	Ablation      bool          // made by an ablation, not by the user
}

// Layer is one kernel of an iteration and its mean time over the last half second.
type Layer struct {
	Name  string // "layer 2 convT dW"
	Phase Phase  // the first, where a kernel belongs to several
	Nanos float64
	FLOPs int64 // additions and multiplications
	Bytes int64 // read and written at least once

	// Compute and Memory are shares, 0 to 1, of what this machine can do at most;
	// Memory is above 1 where the data stayed in a nearer cache than supposed.
	// Judged is false when that was not measured.
	Compute, Memory float64
	Judged          bool
}

// Roofs is what this machine can do at most with the kernels and threads in use, as
// it was measured.
type Roofs struct {
	GFLOPS float64     // 10⁹ additions and multiplications a second
	Levels []RoofLevel // smallest first
}

// RoofLevel is the bandwidth of data that fit into so many bytes, in 10⁹ bytes a
// second; what holds more has the bandwidth of the last level.
type RoofLevel struct {
	Bytes int64
	GBs   float64
}

// Quality compares the reconstruction with the truth at one iteration
// (spec/prism.md §6). SSIM and the others are taken on the object's window.
type Quality struct {
	Iteration int64
	Sample    int32
	PSNR      float64 // dB, data range 1; +Inf when equal
	SSIM      float64
	RMSE      float64 // percent of the truth's root mean square
}

// SampleResult is how the training of one sub-aperture ended.
type SampleResult struct {
	Sample           int32
	Iterations       int32
	Converged        bool
	LossOld, LossNew float64
	Loss             string  // the loss that those are of, as preset.Settings.LossName
	Threshold        float64 // in force at its end; 0 is none, which nothing can reach
	Elapsed          time.Duration
}

// Failed says that the sample used up its iterations without reaching the threshold
// in force.
func (r *SampleResult) Failed() bool { return !r.Converged && r.Threshold > 0 }

// Picture is a grey image of the reconstruction for the screen, never changed
// after it was published. Pixels are row by row, amplitude as reconstructed.
type Picture struct {
	Iteration     int64
	Width, Height int
	Pixels        []float32
}

// Memory is the run's memory in bytes, by category. The first group is exact,
// from the plans; Caches is what the caches hold.
type Memory struct {
	Weights, Gradients, Moments, Activations, Inputs, Scratch int64
	Caches                                                    int64
}

// Total is the sum of all categories.
func (m *Memory) Total() int64 {
	return m.Weights + m.Gradients + m.Moments + m.Activations + m.Inputs + m.Scratch + m.Caches
}
