package profiles

import (
	"fmt"
	"slices"
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/stats"
)

// The parts of a snapshot: times, trends, caches, batches, memory, series, load, costs, and lines of the log.

// Spread summarises times of the recent window, in nanoseconds.
type Spread struct {
	Last, Mean, Median, P10, P95, P90 float64
	N                                 int // iterations of the window that ran this phase
}

// PhaseView is one phase in the recent window.
type PhaseView struct {
	Spread
	Share float64 // of the summed time of the window, 0 to 1
}

// Times has the whole iteration and each phase.
type Times struct {
	Total  Spread
	Phases [MaxPhases]PhaseView
}

// Timing is the breakdown of the time of one iteration, in nanoseconds. The part
// of Total not in a phase was spent between phases.
type Timing struct {
	Index  int64
	Start  int64 // since the run began
	Total  int64
	Phases [MaxPhases]int64
	Flags  Flags
}

// Rest returns the time that belongs to no phase.
func (t *Timing) Rest() int64 {
	rest := t.Total
	for _, ns := range t.Phases {
		rest -= ns
	}
	return max(rest, 0)
}

// TrendBin is the time covered by each value of a Trend, in nanoseconds of the
// run's clock.
const TrendBin = 2_000_000_000

// Trend is the recent past of a phase.
type Trend struct {
	// Bins are mean times in nanoseconds, oldest first, each over the iterations
	// within TrendBin that ran the phase, excluding warm-up; 0 if none did. Periods
	// in which no iteration began have no bin.
	Bins []float64
	// Change is the mean of the newest four bins over that of the previous four,
	// minus 1, whatever was changed in between. HasChange is false before there are
	// eight bins.
	Change    float64
	HasChange bool
}

// WholeIteration is the index of the whole iteration in Trends.
const WholeIteration = MaxPhases

// Trends are the trends of the phases and of the whole iteration.
type Trends [MaxPhases + 1]Trend

// CacheView is a cache and its rate. Before the first iteration it is enabled if
// the settings say so.
type CacheView struct {
	CacheCounters
	RecentRate float64 // hits over lookups in the recent window
	RecentN    int64   // lookups in the recent window; if 0, RecentRate is meaningless
	// RecentSaved is Saved of the recent window at the current Price, RecentLow and RecentHigh
	// the ends of its 95 % interval (see Saving), RecentDropped the number of entries evicted
	// in it, and RecentCapacity its CapacityMisses.
	RecentSaved, RecentLow, RecentHigh int64
	RecentDropped, RecentCapacity      int64
	RecentIterations                   int // in the recent window
}

// BatchView is what the batches of one size took over the run, whatever the other settings were
// since a change of one of them began the collection anew.
type BatchView struct {
	Size       int
	Iterations int // without warm-up
	// Latency is the median of a batch's time in nanoseconds, over the newest stretches.
	Latency float64
	// PerSecond is the number of items a second, with a 95 % interval, which is infinite
	// below stats.SignedRankLeast stretches of neighbouring batches.
	PerSecond, Low, High float64
	Stretches            int
	Bytes                int64 // memory that the run needs with it
}

// Efficiency is items a second for each MB of memory.
func (b *BatchView) Efficiency() float64 { return b.PerSecond / (float64(b.Bytes) / 1e6) }

// MemoryView is Memory together with the operating system's figures.
type MemoryView struct {
	Memory
	RSS, PeakRSS int64  // bytes; 0 if they cannot be read, for the reason in Reason
	Reason       string // why RSS is missing
	GPUReason    string // why GPU memory is missing
	History      MemoryHistory
	Trend        MemoryTrend
}

// SeriesView is a series so far.
type SeriesView struct {
	Curve Curve
	// Latest is the newest value. If every iteration has a value it is that of the newest
	// iteration, NaN for none. For other series, Iteration is the iteration of the newest
	// value, and Has is false before the first one.
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
	GPU        Curve // in use on the run's GPU, by any program; empty for a run on the processor
}

// MemoryTrend is the growth rate of the process while nothing else changes, from
// readings since the last change of a setting or stage.
type MemoryTrend struct {
	// Known is false while there are too few readings; Needed is then the running
	// time until there are enough.
	Known  bool
	Needed time.Duration
	Span   time.Duration // running time covered by the readings
	N      int
	// PerMinute is in bytes per minute of running time, with a 95 % interval.
	PerMinute, Low, High float64
	// PerThousand is in bytes per 1000 iterations, at the rate of iterations
	// within the span.
	PerThousand float64
	// CachesPerMinute is the growth of the caches; Beyond and its interval are the
	// trend of the process without the caches, the unused part of the Go heap, and what
	// is kept of the run for screens that attach later.
	CachesPerMinute             float64
	Beyond, BeyondLow, BeyondHi float64
	// Lately is Beyond over the newest quarter of the readings.
	Lately float64
}

// Noise reports whether the slope is indistinguishable from noise.
func (t MemoryTrend) Noise() bool { return !t.Known || !stats.Zero(0).Judge(t.Low, t.High).Excluded() }

// BeyondCaches returns what the interval of Beyond allows to say: Above is growth that the caches do not explain.
func (t MemoryTrend) BeyondCaches() stats.Finding {
	if !t.Known {
		return stats.Undecided
	}
	return stats.Zero(0).Judge(t.BeyondLow, t.BeyondHi)
}

// LoadView is the processor load by other programs.
type LoadView struct {
	// Foreign is the share of all of the machine's processors, 0 to 1, used by
	// others over the last two seconds; Known is false before the first reading,
	// and if it cannot be read, for the reason in Reason.
	Foreign float64
	Known   bool
	Reason  string
	// Considerable becomes true when others use more than machine.Quiet, and false
	// when they use less than half of that over five seconds.
	Considerable bool

	// Whole is the share over the whole run, without its preparation and pauses; WholeKnown is false before half a
	// second of it, and if it cannot be read.
	Whole      float64
	WholeKnown bool
}

// Disturbed says that other programs took a considerable share of the processors over the whole run; empty if they did
// not, or it is not known.
func (v *LoadView) Disturbed() string {
	if !v.WholeKnown || v.Whole <= machine.Quiet {
		return ""
	}
	return fmt.Sprintf("other programs took %.0f %% of the processors: times may be longer than without them",
		100*v.Whole)
}

// OwnCost is the cost of monitoring.
type OwnCost struct {
	Aggregator float64 // share of one core spent on aggregating and Iteration.Retimed, 0 to 1
	Dropped    int64   // records lost because the aggregator fell behind, or that a damaged recording lacks
	Watching   WatchingCost
}

// WatchingCost is the share of the run's speed that watching costs, measured in the run itself.
type WatchingCost struct {
	// Measured is false if nobody measures it: without a screen, or if the run is not computed here.
	Measured bool
	// Known is false until there is an interval; Reason explains why there may be none.
	Known  bool
	Reason string
	// Value is the share of the iterations per second that are lost, with a 95 % interval, at the
	// current density. It may be negative within noise.
	Value, Low, High float64

	Budget  float64       // above which watching is thinned, 0 for none
	Thinned bool          // it is thinned now
	Period  time.Duration // between two frames
	Sparse  int           // by which pictures, comparisons with the truth and layers are rarer
}

// NewLines returns the lines of a log after those seen before, of which the oldest may be gone.
func NewLines(before, now []LogLine) []LogLine {
	for i := len(now); i > 0 && len(before) > 0; i-- {
		if n := min(i, len(before)); slices.Equal(now[i-n:i], before[len(before)-n:]) {
			return now[i:]
		}
	}
	return now
}

// LogLine is a line of the log.
type LogLine struct {
	At      time.Duration
	Text    string
	Refused bool // a request failed
	Kept    Kept // as in LogEntry
}
