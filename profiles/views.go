package profiles

import "time"

// This file is what a Snapshot shows of a run's parts.

// Spread summarises times of the recent window, in nanoseconds.
type Spread struct {
	Last, Mean, Median, P10, P95, P90 float64
	N                                 int // iterations in the window that ran this phase
}

// PhaseView is one phase in the recent window.
type PhaseView struct {
	Spread
	Share float64 // of the summed time of the window, 0 to 1
}

// Times is the whole iteration and each phase.
type Times struct {
	Total  Spread
	Phases [MaxPhases]PhaseView
}

// Timing is where the time of one iteration went, in nanoseconds. What Total holds
// beyond the phases was spent between them.
type Timing struct {
	Index  int64
	Start  int64 // since the run began
	Total  int64
	Phases [MaxPhases]int64
	Flags  Flags
}

// Rest is the time that belongs to no phase.
func (t *Timing) Rest() int64 {
	rest := t.Total
	for _, ns := range t.Phases {
		rest -= ns
	}
	return max(rest, 0)
}

// TrendBin is how long each value of a Trend stands for, in nanoseconds of the
// run's clock.
const TrendBin = 2_000_000_000

// Trend is the recent past of a phase.
type Trend struct {
	// Bins are mean times in nanoseconds, oldest first, each of the iterations of
	// TrendBin that ran the phase, warm-up excluded; 0 where none did. Time in which
	// no iteration began has no bin.
	Bins []float64
	// Change is the mean of the newest four bins over that of the four before, less
	// 1, whatever was changed in between. HasChange is false before there are eight.
	Change    float64
	HasChange bool
}

// WholeIteration is the index of the whole iteration in Trends.
const WholeIteration = MaxPhases

// Trends are those of the phases, and that of the whole iteration.
type Trends [MaxPhases + 1]Trend

// CacheView is a cache and its rate. Before the first iteration it is enabled
// where the settings say so.
type CacheView struct {
	CacheCounters
	RecentRate float64 // hits over lookups in the recent window
	RecentN    int64   // lookups in the recent window; 0 means RecentRate says nothing
	// RecentSaved is Saved of the recent window at the present Price, RecentLow and RecentHigh
	// the ends of its 95 % interval (see Saving), RecentDropped the entries that were dropped
	// in it, and RecentCapacity its CapacityMisses.
	RecentSaved, RecentLow, RecentHigh int64
	RecentDropped, RecentCapacity      int64
	RecentIterations                   int // in the recent window
}

// MemoryView is Memory with what the operating system says.
type MemoryView struct {
	Memory
	RSS, PeakRSS int64  // bytes; 0 when Reason tells why they cannot be read
	Reason       string // why RSS is missing
	GPUReason    string // why GPU memory is missing
	History      MemoryHistory
	Trend        MemoryTrend
}

// SeriesView is a series so far.
type SeriesView struct {
	Curve Curve
	// Latest is the newest value, of the newest iteration where every iteration has one: NaN
	// where it has none. Has is false before the first value of any other series, whose
	// newest is of Iteration.
	Latest    float64
	Has       bool
	Iteration int64
}

// MemoryHistory is memory over the run, in bytes, read once a second.
type MemoryHistory struct {
	RSS        Curve // of the process
	Parameters Curve // categories of the model's parameters
	Buffers    Curve // the other categories
	Caches     Curve
}

// MemoryTrend is how fast the process grows while nothing else changes: from
// readings since the last change of a setting or stage.
type MemoryTrend struct {
	// Known is false while there are too few readings; Needed is then the running
	// time until there are enough.
	Known  bool
	Needed time.Duration
	Span   time.Duration // of running time that the readings cover
	N      int
	// PerMinute is in bytes per minute of running time, with a 95 % interval.
	PerMinute, Low, High float64
	// PerThousand is in bytes per 1000 iterations, at the rate of the span.
	PerThousand float64
	// CachesPerMinute is what the caches grew by; Beyond and its interval are the
	// trend of what is left of the process without them and without the part of the
	// Go heap that nothing lives in.
	CachesPerMinute             float64
	Beyond, BeyondLow, BeyondHi float64
}

// Noise says whether no slope can be told from noise.
func (t MemoryTrend) Noise() bool { return !t.Known || !(t.Low > 0 || t.High < 0) }

// LoadView is what other programs take of the processors.
type LoadView struct {
	// Foreign is the share of all of the machine's processors, 0 to 1, that others
	// took over the last two seconds; Known is false before the first, and where
	// Reason tells why it cannot be read.
	Foreign float64
	Known   bool
	Reason  string
	// Considerable is true from when others took more than machine.Quiet until they
	// took less than half of that over five seconds.
	Considerable bool
}

// OwnCost is what watching costs.
type OwnCost struct {
	Aggregator float64 // share of one core spent on aggregating and Iteration.Retimed, 0 to 1
	Dropped    int64   // records lost because the aggregator fell behind
}

// LogLine is something worth telling, once.
type LogLine struct {
	At      time.Duration
	Text    string
	Refused bool // what was asked for could not be done
}
