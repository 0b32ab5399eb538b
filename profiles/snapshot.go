package profiles

import (
	"math"
	"time"

	"prismtop/profiles/settings"
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
	PriorStarts int  // restarts of this run so far
	Saves       bool // it has a result that can be written to files

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
	Settings settings.Values
	Next     *settings.Values // that a restart begins with, where they were changed; nil for Settings
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
