package profiles

import (
	"math"
	"time"

	"prismtop/profiles/settings"
)

// The snapshot that a screen draws, and the states of a run.

// State is the state of a run.
type State uint8

// The states of a run.
const (
	Preparing State = iota // loading the picture, compiling plans
	Running
	Paused
	Finished // all samples are trained, or a limit was reached
	Stopped  // ended by the user
	Failed   // ended by an error, see Snapshot.Err
)

// Diverged begins the reason of a run that failed because its loss was no longer a number.
const Diverged = "diverged"

// String returns the state's name for display.
func (s State) String() string {
	return [...]string{"preparing", "running", "paused", "finished", "stopped", "failed"}[s]
}

// Before is what the starts of a run before its newest one did.
type Before struct {
	Iterations int64
	Changes    int // whose effects were followed
}

// Snapshot is the complete input of the screen at one moment. It is immutable:
// memory it refers to is never modified after it was published.
type Snapshot struct {
	Run      RunInfo
	Settings settings.Values
	Next     *settings.Values // for a restart, if they were changed; nil means Settings
	State    State
	Err      string
	EndedBy  string // the limit that finished the run early, as "max_iterations = 300"; empty for none

	Before Before // what ran before the newest restart
	Start  int    // starts of the run before this one, those in a recording that it goes on with included
	// Prior is the last of the start before, without pictures, its own cost and a Prior; nil for none.
	Prior *Snapshot

	Elapsed  time.Duration // running time, pauses excluded
	Kind     Kind          // of the newest iteration
	Index    int64         // iterations so far
	Unit     int           // current unit of work, 0-based; −1 before the first
	InUnit   int
	Rate     float64 // iterations per second over the last two seconds
	ETA      time.Duration
	ETAKnown bool

	// Total and Phases summarise the recent window: at most 512 iterations since
	// the last change of a setting or kind, warm-up excluded.
	Total  Spread
	Phases [MaxPhases]PhaseView
	// Whole summarises all iterations of the stage so far, excluding warm-up,
	// whatever the settings were. Its quantiles are accurate to 0.4 %.
	Whole Times

	// Trends is the recent past of the phases, and of the whole iteration.
	Trends *Trends
	// Recent is the newest iterations one by one, at most 512, warm-up included.
	Recent []Timing

	IterationTime Curve // milliseconds
	Clock         Curve // when iterations started, in seconds since the run began, including pauses

	Series       [MaxSeries]SeriesView // by the schema
	SkippedSteps int64
	NonFinite    int64

	Pictures [MaxPictures]*Picture // by the schema; nil until the first one

	Layers []Layer // in execution order; empty unless enabled in the settings
	Roofs  *Roofs  // by which the layers are judged; nil if never measured

	Batches []BatchView // by size; empty if iterations are not batches

	Caches [MaxCaches]CacheView
	Memory MemoryView
	Load   LoadView
	// Sensors are the machine's GPUs and counters of energy, whether the run computes on a GPU or not.
	Sensors SensorsView

	Changes []Change // of settings, merged per boundary from the first value to the last; newest last
	Effects []Effect // one per boundary at which settings other than limits changed; newest last

	Notes        []Note        // of this start, at most MostNotes; newest last
	EarlierNotes []EarlierNote // of the starts before it, likewise

	Ablation *Ablation // the newest, running or ended; nil without one
	Compared *Ablation // the newest with a table, also if a replication or a search followed; nil without one

	Results []UnitResult // of the newest units that ended, at least KeptResults of them; see Ended and UnitsEnded
	Earlier Ended        // the units before those
	Tasks   *Tasks       // the newest state; nil if the run is not of a list of tasks
	Ranks   *Ranks       // the newest state; nil if one process trains alone
	Output  *Output      // what the program of a loop in another process prints; nil for other runs

	Recording RecordingState
	Kept      Kept // by the newest checkpoint of this start

	Log    []LogLine
	Alerts []Alert // current problems, worst first
	Own    OwnCost

	// CatchingUp marks the run as it stood a moment ago, without its past: an attached screen has the newest
	// settings, pictures and results, and its curves, times and effects follow.
	CatchingUp bool
}

// Stage returns the name of the run's current stage.
func (s *Snapshot) Stage() string { return s.Run.Schema.Stage(s.Kind) }

// InUnits reports whether the run is processing its units of work.
func (s *Snapshot) InUnits() bool { return s.Run.Schema.InUnits(s.Kind) }

// Of returns the series of a name; one without values if the schema has none.
func (s *Snapshot) Of(name string) SeriesView {
	if i := s.Run.Schema.SeriesNamed(name); i >= 0 {
		return s.Series[i]
	}
	return SeriesView{Latest: math.NaN()}
}

// Cache returns the cache that a setting switches; the zero value if the schema has
// none.
func (s *Snapshot) Cache(setting string) CacheView {
	if i := s.Run.Schema.CacheOf(setting); i >= 0 {
		return s.Caches[i]
	}
	return CacheView{}
}

// MemoryReason returns why the run's memory by category is not known; empty if it is.
func (s *Snapshot) MemoryReason() string {
	switch {
	case s.Memory.Parts != [MaxMemory]int64{}:
		return ""
	case s.Index == 0:
		return "no iteration ran"
	}
	return "it was not measured by category"
}

// Picture returns the picture of a name; nil if there is none.
func (s *Snapshot) Picture(name string) *Picture {
	if i := s.Run.Schema.PictureNamed(name); i >= 0 {
		return s.Pictures[i]
	}
	return nil
}

// InAll returns the running time of a resumed run with that before its checkpoint; 0 if it was not resumed, or that is
// not known.
func (s *Snapshot) InAll() time.Duration {
	if s.Run.Ran == 0 {
		return 0
	}
	return s.Run.Ran + s.Elapsed
}

// InCheckpoint returns how many of the iterations the newest checkpoint has, that of this start or the one from which
// it goes on.
func (s *Snapshot) InCheckpoint() int64 { return max(s.Run.Resumed, s.Kept.Iterations) }
