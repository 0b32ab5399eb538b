// Package profiles is the data model of a run that is being watched: what one
// iteration measured, what changed, and the Snapshot that the screen draws.
//
// Data flows one way. The run writes fixed-size Iteration records into a stream.Stream
// (a lossless single-producer ring) and never waits; the aggregate.Aggregator drains it,
// and once per tick builds one immutable Snapshot. Rooms of their own judge: effect what a
// change did, alert what is wrong.
package profiles

import (
	"math"
	"time"
)

// Phase is the index of a phase in its schema.
type Phase uint8

// Kind is the index of a kind of iteration in its schema.
type Kind uint8

// CacheID is the index of a cache in its schema.
type CacheID uint8

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
	Converged   Flags = 1 << iota // the stop rule ended the unit: not every phase ran
	SkippedStep                   // the gradient scaler found an overflow and skipped the update
	NonFinite                     // a loss was NaN or infinite
	Warmup                        // first iteration after a plan was compiled or a setting changed
)

// Values holds a value for every series of a schema; NaN where there is none.
type Values [MaxSeries]float64

// NoValues has no value.
func NoValues() (v Values) {
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// Iteration is what one iteration measured. It has a fixed size and no pointers: the
// schema says what its entries mean. Times are nanoseconds.
type Iteration struct {
	Index  int64 // counts every iteration of the run from 0
	Kind   Kind
	Flags  Flags
	Unit   int32 // index of the unit of work, 0-based; −1 before the first
	InUnit int32 // iteration within the unit, or within what comes before the first

	Start  int64            // since the run began
	Total  int64            // whole iteration, wall time, without Retimed
	Phases [MaxPhases]int64 // a phase that did not run is 0

	// Series has the values of the series that every iteration has; the others' entries
	// are not read.
	Series Values

	// Retimed is what watching the caches took: time to compute again what they had,
	// which is in neither Total nor a phase.
	Retimed int64

	Changes uint32 // number of Changes made before this iteration: names its settings
	Caches  [MaxCaches]CacheCounters
}

// Measurement has values of series that are not measured in every iteration, at one
// iteration; NaN where a series was not measured.
type Measurement struct {
	Iteration int64
	Unit      int32
	Values    Values
}

// Change is a setting that changed between two iterations.
type Change struct {
	Key           string // the setting's key, "amp"
	Before, After string
	Iteration     int64         // Index of the first iteration under the new value
	At            time.Duration // since the run began
	Ablation      bool          // made by an ablation, not by the user
	Controls      uint16        // phases, a bit each, that it cannot touch; 0 where that is not known
	Limit         bool          // it says when a unit or the run ends, and changes nothing in an iteration
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

// UnitResult is how the training of a unit of work ended.
type UnitResult struct {
	Unit       int32
	Iterations int32
	Converged  bool
	Values     Values  // of the series at its end
	Reached    float64 // what the stop rule compares with Threshold, below which a unit converges
	Loss       string  // the loss that Reached is of, by its name
	Threshold  float64 // in force at its end; 0 is none, which nothing can reach
	Elapsed    time.Duration
}

// Failed says that the unit used up its iterations without reaching the threshold
// in force.
func (r *UnitResult) Failed() bool { return !r.Converged && r.Threshold > 0 }

// Picture is a grey image for the screen, never changed after it was published. Pixels
// are row by row, amplitude as reconstructed.
type Picture struct {
	ID            int // index in the schema
	Iteration     int64
	Width, Height int
	Pixels        []float32
}

// Memory is the run's memory in bytes. Parts are the categories of the schema, exact from
// the plans; Caches is what the caches hold.
type Memory struct {
	Parts  [MaxMemory]int64
	Caches int64
}

// Total is the sum of all categories.
func (m *Memory) Total() int64 {
	sum := m.Caches
	for _, bytes := range m.Parts {
		sum += bytes
	}
	return sum
}

// Sums are what the model is made of and what its buffers take, in bytes.
func (m *Memory) Sums(s *Schema) (parameters, buffers int64) {
	for i, part := range s.Memory {
		if part.Parameters {
			parameters += m.Parts[i]
		} else {
			buffers += m.Parts[i]
		}
	}
	return parameters, buffers
}
