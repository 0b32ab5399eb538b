// Package profiles is the data model of a monitored run: the measurements of an
// iteration, changes of settings, and the Snapshot drawn by the screen.
//
// Data flows one way. The run writes fixed-size Iteration records into a stream.Stream (a ring per
// reader; a full ring drops records and counts them) and never waits; the aggregate.Aggregator drains
// it, and once per tick builds one immutable Snapshot. Judgements are in separate packages:
// effect evaluates changes of settings, alert finds problems.
package profiles

import (
	"math"
	"time"

	"prismtop/profiles/unit"
)

// The records of a run: iterations with their counters, flags and values, measurements, changes of settings, and
// results of units.

// Phase is the index of a phase in its schema.
type Phase uint8

// Kind is the index of a kind of iteration in its schema.
type Kind uint8

// CacheID is the index of a cache in its schema.
type CacheID uint8

// CacheCounters are a cache's counters since the run began.
type CacheCounters struct {
	Enabled bool
	Hits    int64
	Misses  int64
	Entries int64
	Bytes   int64
	// Saved is the time saved by hits, in nanoseconds: for each hit the measured
	// cost of computing such an entry, minus the cost of looking it up, including
	// hashing. It is negative if the cache costs more than it saves.
	Saved int64
	// Spent is the cost of all lookups in nanoseconds, including hashing and storing,
	// and SpentSquares the sum of the squares of each lookup's cost.
	Spent        int64
	SpentSquares float64
	// Price is the cost of computing one of the largest entries, in nanoseconds:
	// the median of PricedBy computations. Priced is the number of hits of such
	// entries, and Gross their contribution to Saved.
	Price, PricedBy, Priced, Gross int64
	// PriceLow and PriceHigh are the ends of the median's 95 % interval, and GrossLow and
	// GrossHigh the value of the hits at either end.
	PriceLow, PriceHigh, GrossLow, GrossHigh int64
	// CapacityMisses are misses of entries evicted earlier; the other misses are
	// of entries never held.
	CapacityMisses int64
}

// LookupCost returns the mean time of a lookup in nanoseconds, including hashing
// and, after a miss, storing; ok is false if nothing was looked up.
func (c CacheCounters) LookupCost() (ns float64, ok bool) {
	n := c.Hits + c.Misses
	if n == 0 {
		return 0, false
	}
	return float64(c.Spent) / float64(n), true
}

// PriceLeast is the number of computations that make a price certain: fewer may all
// have been slowed by cold memory or a busy processor.
const PriceLeast = 5

// Uncertain reports whether Saved is based on fewer than PriceLeast computations.
func (c CacheCounters) Uncertain() bool { return c.Priced > 0 && c.PricedBy < PriceLeast }

// Timed says how many computations the price is based on: "1 computation was timed".
func (c CacheCounters) Timed() string {
	return unit.Plural(int(c.PricedBy), "computation was", "computations were") + " timed"
}

// HitRate returns hits over lookups; ok is false if nothing was looked up.
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
	Unwatched                     // it began while nobody watched: see Thinner
	Unphased                      // its phases were not measured
)

// Values holds a value for every series of a schema; NaN if there is none.
type Values [MaxSeries]float64

// NoValues is Values without any value.
func NoValues() (v Values) {
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// Iteration is the record of one iteration. It has a fixed size and no pointers: the
// schema gives the meaning of its entries. Times are nanoseconds.
type Iteration struct {
	Index  int64 // counts every iteration of the run from 0
	Kind   Kind
	Flags  Flags
	Unit   int32 // index of the unit of work, 0-based; −1 before the first
	InUnit int32 // iteration within the unit, or within the stage before the first unit

	Start  int64            // since the run began
	Total  int64            // whole iteration, wall time, without Retimed
	Phases [MaxPhases]int64 // a phase that did not run is 0

	// Series has the values of series present in every iteration; the entries of others
	// are not read.
	Series Values

	// Retimed is the cost of monitoring the caches: the time to recompute cached
	// entries, which is in neither Total nor a phase.
	Retimed int64

	Changes uint32 // number of Changes made before this iteration: identifies its settings
	Caches  [MaxCaches]CacheCounters
}

// Measurement has values, at one iteration, of series that are not measured in
// every iteration; NaN if a series was not measured.
type Measurement struct {
	Iteration int64
	Unit      int32
	Values    Values
}

// Over returns a measurement that also has the values of an older one that it lacks.
func (m *Measurement) Over(older *Measurement) *Measurement {
	all := *m
	for i, v := range older.Values {
		if math.IsNaN(all.Values[i]) {
			all.Values[i] = v
		}
	}
	return &all
}

// Change is a setting that changed between two iterations.
type Change struct {
	Key           string // the setting's key, "amp"
	Before, After string
	Iteration     int64         // Index of the first iteration under the new value
	At            time.Duration // since the run began
	Asked         time.Duration // when the user asked for it, since the run began; 0 if that is not known
	Ablation      bool          // made by an ablation, not by the user
	Controls      uint16        // phases, a bit each, that it cannot touch; 0 where that is not known
	Limit         bool          // it determines when a unit or the run ends, and does not affect an iteration
}

// UnitResult is the result of training a unit of work.
type UnitResult struct {
	Unit       int32
	Iterations int32
	Converged  bool
	Values     Values  // of the series at its end; as in an Iteration, those of others are not read
	Reached    float64 // the value that the stop rule compares with Threshold, below which a unit converges
	Loss       string  // name of the loss that Reached refers to
	Threshold  float64 // in force at its end; 0 means none, which cannot be reached
	Elapsed    time.Duration
}

// Failed reports whether the unit used up its iterations without reaching the
// threshold in force.
func (r *UnitResult) Failed() bool { return !r.Converged && r.Threshold > 0 }
