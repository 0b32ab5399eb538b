package profiles

import (
	"cmp"
	"math"
	"time"

	"prismtop/profiles/preset"
)

// State is what a run is doing.
type State uint8

// The states of a run.
const (
	Preparing State = iota // loading the picture, compiling plans
	Running
	Paused
	Finished // every sample was trained, or a limit was reached
	Stopped  // ended by the user
	Failed   // ended by an error, which Snapshot.Err tells
)

// String is the state's name on screen.
func (s State) String() string {
	return [...]string{"preparing", "running", "paused", "finished", "stopped", "failed"}[s]
}

// RunInfo is what does not change during a run.
type RunInfo struct {
	Schema      Schema
	Object      string // what it works on: "moon", or a file's name
	Device      string // "cpu"
	Kernels     string // "go", "avx2", "avx512", "amx"
	GPUReason   string // why no GPU is used; empty when one is
	Parameters  int    // trainable numbers of the model
	Seed        uint64
	Units       int // of work, in one pass
	Passes      int // times that the units are worked off; 0 counts as 1
	Notes       []string
	PriorStarts int // restarts of this run so far

	Sampling // of k-space; zero where nothing is sampled there
}

// Sampling is the pattern in which a telescope samples k-space, a sample for each unit
// of work.
type Sampling struct {
	Size       int          // N: side of the field, pixels
	ObjectSize int          // S: side of the object's window, pixels
	Centres    [][2]float64 // of apertures [y, x], pixels from DC; PerSample of them each
	PerSample  int
	Radius     float64 // of an aperture, pixels
}

// AllUnits is the number of units of all passes, which Iteration.Unit counts.
func (r *RunInfo) AllUnits() int { return r.Units * max(r.Passes, 1) }

// Place is where in a pass a unit stands, and in which pass, both from 0. A
// negative unit, before the first, has place −1.
func (r *RunInfo) Place(unit int) (place, pass int) {
	if unit < 0 || r.Units <= 0 {
		return unit, 0
	}
	return unit % r.Units, unit / r.Units
}

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

// Point is a bucket of a curve: the extremes and the mean of the iterations that
// it stands for, so that no spike is lost by downsampling.
type Point struct {
	First, Last    int64 // Iteration.Index range, inclusive
	Min, Max, Mean float64
	Bins           Bins // of the values, where the curve tells quantiles
}

// Curve is a downsampled series, oldest first. Gaps (NaN) are not stored.
type Curve []Point

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

// Effect is what the changes at one iteration boundary did, measured from the
// iterations before and after it (same stage, warm-up excluded, and those that other
// programs disturbed where enough are left).
type Effect struct {
	// Change is the setting that changed, from its value before the boundary to the one
	// after it; of several, which have one effect together, the first. With are the others.
	Change
	With []Change
	// Enough is false while a window has too few iterations; Needed says how
	// many more iterations the after-window wants, and is 0 where the window before
	// has too few for ever.
	Enough bool
	Needed int
	// Before and After are medians of the whole iteration, in nanoseconds.
	BeforeNS, AfterNS float64
	// Shift is After/Before − 1 of the medians with a 95 % bootstrap interval. They are
	// the change's work only where Comparable.
	Shift, Low, High float64
	NBefore, NAfter  int
	// Waiting counts iterations after the change that will count once it is known what other
	// programs took beside them.
	Waiting int
	// LeftOut counts iterations that other programs disturbed and that are in neither
	// window.
	LeftOut int
	// QualityDrift is the schema's Quality at the end of the after-window less that before;
	// HasQuality is false when none was measured on one side.
	QualityDrift float64
	HasQuality   bool
	// Closed is true once a later change, another stage or the run's end ended the
	// after-window, and all of it counts; Ended where it was the run's end.
	Closed, Ended bool
	// Confounded says what else differs between the windows ("sample advanced 4 → 5",
	// "others took 62 % of the processors"), empty when nothing does. Briefly is the
	// first of it in a few words.
	Confounded, Briefly string
}

// Changes lists every setting that changed at the boundary.
func (e *Effect) Changes() []Change {
	return append([]Change{e.Change}, e.With...)
}

// Comparable tells whether the shift is the change's work as far as can be measured.
func (e *Effect) Comparable() bool { return e.Enough && e.Confounded == "" }

// CutShort tells whether a change now would end the after-window before it has enough
// iterations, of which it has had so many.
func (e *Effect) CutShort() (had int, cut bool) {
	had = e.NAfter + e.Waiting
	return had, e.Open() && had < EffectEnough
}

// Open tells whether an effect waits for iterations that may come.
func (e *Effect) Open() bool { return !e.Enough && !e.Closed && e.Needed > 0 }

// Incomparable says in full and in a few words why the windows are not comparable;
// both are empty where they are, and while they may become so.
func (e *Effect) Incomparable() (full, brief string) {
	switch {
	case e.Comparable() || e.Open():
		return "", ""
	case e.Enough:
		return e.Confounded, cmp.Or(e.Briefly, e.Confounded)
	case e.Needed <= 0:
		return cmp.Or(e.Confounded, "too few iterations before it"), cmp.Or(e.Briefly, "too few before")
	case e.Ended:
		return "the run ended first", "the run ended first"
	}
	return only(e.NAfter) + " after it", "too few after"
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

// Stage is the name of the stage that the run is in.
func (s *Snapshot) Stage() string { return s.Run.Schema.Stage(s.Kind) }

// InUnits says whether the run is at its units of work.
func (s *Snapshot) InUnits() bool { return s.Run.Schema.InUnits(s.Kind) }

// Of is the series of a name; one without values where the schema has none.
func (s *Snapshot) Of(name string) SeriesView {
	if i := s.Run.Schema.SeriesNamed(name); i >= 0 {
		return s.Series[i]
	}
	return SeriesView{Latest: math.NaN()}
}

// Cache is the cache that a setting switches; the zero one where the schema has none.
func (s *Snapshot) Cache(setting string) CacheView {
	if i := s.Run.Schema.CacheOf(setting); i >= 0 {
		return s.Caches[i]
	}
	return CacheView{}
}

// Picture is the picture of a name; nil where there is none.
func (s *Snapshot) Picture(name string) *Picture {
	if i := s.Run.Schema.PictureNamed(name); i >= 0 {
		return s.Pictures[i]
	}
	return nil
}

// Snapshot is everything the screen needs at one moment. It is immutable:
// slices and pointers in it are never written after it was published.
type Snapshot struct {
	Run      RunInfo
	Settings preset.Settings
	Next     *preset.Settings // that a restart begins with, where they were changed; nil for Settings
	State    State
	Err      string
	EndedBy  string // the limit that finished the run early, as "max_iterations = 300"; empty for none

	Elapsed  time.Duration // running time, pauses excluded
	Kind     Kind          // of the newest iteration
	Index    int64         // iterations so far
	Unit     int           // current unit of work, 0-based; −1 before the first
	InUnit   int
	Rate     float64 // iterations per second over the last two seconds
	ETA      time.Duration
	ETAKnown bool

	// Total and Phases summarise the recent window: at most 512 iterations since
	// the last change of a setting or stage, warm-up excluded.
	Total  Spread
	Phases [MaxPhases]PhaseView
	// Whole summarises every iteration of the stage so far, warm-up excluded,
	// whatever the settings were. Its quantiles are exact to 0.4 %.
	Whole Times

	// Trends is the recent past of the phases, and of the whole iteration.
	Trends *Trends
	// Recent is the newest iterations one by one, at most 512, warm-up included.
	Recent []Timing

	IterationTime Curve // milliseconds
	Clock         Curve // when iterations started, seconds since the run began, pauses included

	Series       [MaxSeries]SeriesView // by the schema
	SkippedSteps int64
	NonFinite    int64

	Pictures [MaxPictures]*Picture // by the schema; nil until the first one

	Layers []Layer // in the order in which they run; empty unless the settings ask for them
	Roofs  *Roofs  // that the layers are judged by; nil where they were never measured

	Caches [MaxCaches]CacheView
	Memory MemoryView
	Load   LoadView

	Changes []Change // of settings, each boundary's from its first value to its last, newest last
	Effects []Effect // one per boundary at which settings changed but limits, newest last

	Ablation *Ablation // the newest, running or ended; nil without one

	Results []UnitResult

	Log    []LogLine
	Alerts []Alert // what is wrong now, the worst first
	Own    OwnCost
}
