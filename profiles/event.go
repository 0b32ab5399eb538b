package profiles

import (
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

// Events and all their bodies but those with files of their own; sources of events and what a reader may ask of one.

// Event is something that happened in a run. A live run, a replay and an external
// process send the same events, in chronological order.
type Event struct {
	At   time.Time // zero for an *Iteration, which has Start
	Body Body
}

// Body is the content of an Event: *Begin, *Grown, *Iteration, *Changed, *Moved, *Next, *StateChange,
// *Measurement, *UnitResult, *Ended, *Answer, *LogEntry, *Note, *Picture, *Memory, *LayerTimes, *Ablation, *Fork,
// *Tasks,
// *Output, *Ranks, *Resident, *Sensors, *Load or *RecordingState. A body does not change after it was sent, except an
// *Iteration, which is valid only while the event is handled.
type Body interface{ body() }

// Begin starts or restarts a run: everything known about it before is dropped, except
// the log and the table of an ablation. The state becomes Preparing.
type Begin struct {
	Info     RunInfo
	Settings settings.Values
}

// Grown is the schema of a run that measures more than at its Begin: entries were added at the ends of its lists, and
// those that were there are the same. It comes before the first iteration with numbers of them.
type Grown struct{ Schema Schema }

// Changed is a setting that changed, and all settings after it. It comes before the
// first iteration under the new value.
type Changed struct {
	Change
	Settings settings.Values
}

// Moved reports that the run moved to another device.
type Moved struct {
	Device, Kernels, Card string // as in a RunInfo
	Cautions              []Caution
	Failed                string // why it left the device before, if that failed; else empty
	Again                 int    // units that ended and, after the failure, are trained again
}

// Next holds the settings for a restart, if they were changed. It is valid until the
// next Begin.
type Next struct{ Settings settings.Values }

// StateChange is a new state. Why is the reason why a run failed, or the limit that
// finished it; else empty.
type StateChange struct {
	State State
	Why   string
	// Ran is the running time before it, for a reader that has not followed the run from its
	// start; else 0.
	Ran time.Duration
}

// LogEntry is a line for the log.
type LogEntry struct {
	Text    string
	Refused bool // a command failed
	Kept    Kept // what a checkpoint has saved, for the line that reports it; zero otherwise
}

// Kept is how far the newest checkpoint of a run has it.
type Kept struct {
	Path       string // of the checkpoint; empty for none
	Iterations int64
}

// LayerTimes are the times of the layers and the roofs by which they are judged, nil for
// none. An event without layers ends the profile.
type LayerTimes struct {
	Layers []Layer
	Roofs  *Roofs
}

// Resident is the memory of the process as reported by the operating system, in
// bytes.
type Resident struct {
	RSS, Peak int64
	Reason    string // why they cannot be read; empty if they can
	// Collectable is the part of RSS that is no leak: what the garbage collector may return or reuse, and what is kept
	// of the run in memory, within a bound, for screens that attach later.
	Collectable int64
}

// Sensors is a reading of the GPUs and of the counters of energy, taken Age before it was sent.
type Sensors struct {
	machine.Sensors
	Age time.Duration
}

// Load is a reading of the machine's counters of processor time.
type Load struct{ machine.Load }

// RecordingState is the state of the recording of a run: the newest counts.
type RecordingState struct {
	Path    string // of the file; empty if the run is not recorded
	Err     string // why nothing more is recorded; empty while it is
	Dropped int64  // iterations that are missing because the file could not be written in time
}

func (*Begin) body()          {}
func (*Grown) body()          {}
func (*Iteration) body()      {}
func (*Changed) body()        {}
func (*Moved) body()          {}
func (*Next) body()           {}
func (*StateChange) body()    {}
func (*Measurement) body()    {}
func (*UnitResult) body()     {}
func (*Ended) body()          {}
func (*Answer) body()         {}
func (*LogEntry) body()       {}
func (*Note) body()           {}
func (*Picture) body()        {}
func (*Memory) body()         {}
func (*LayerTimes) body()     {}
func (*Ablation) body()       {}
func (*Fork) body()           {}
func (*Tasks) body()          {}
func (*Resident) body()       {}
func (*Sensors) body()        {}
func (*Load) body()           {}
func (*RecordingState) body() {}

// Source is a source of events: the Reader of a live run's Stream, a replay, or an
// external process. It is not safe for concurrent use.
type Source interface {
	// Drain calls take with every event since the last call, oldest first, and returns
	// whether there were any. take must not keep the *Event, nor the *Iteration in it.
	Drain(take func(*Event)) bool

	// Dropped returns the number of events lost because Drain was called too rarely.
	Dropped() int64
}

// Asker is a Source that makes pictures on request.
type Asker interface {
	// WantPicture requests a picture of the run's current state.
	WantPicture()
}

// Thinner is a Source whose run does some work only to be watched: pictures, comparisons with the
// truth, layer profiles.
type Thinner interface {
	// Thin suspends this work while dark is set, and marks the iterations Unwatched. Otherwise
	// the work is done sparse times as rarely as usual. Only one observer may thin.
	Thin(dark bool, sparse int)
}

// Reporter is a Source in the process of the run. It accepts readings of the machine,
// which then arrive as events at all observers of the run.
type Reporter interface {
	// Report sends a reading, a *Resident, a *Sensors or a *Load, taken at a time.
	Report(at time.Time, reading Body)
	// Reports reports whether Report sends anything: one Reporter per process is
	// enough.
	Reports() bool
}
