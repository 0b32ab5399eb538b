package profiles

import (
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

// Event is one thing that happened in a run. A live run, a replay and a process outside
// send the same events, in the order in which they happened.
type Event struct {
	At   time.Time // of an *Iteration it is zero: Start has it
	Body Body
}

// Body is the content of an Event: *Begin, *Iteration, *Changed, *Next, *StateChange,
// *Measurement, *UnitResult, *LogEntry, *Picture, *Memory, *LayerTimes, *Ablation, *Fork,
// *Resident or *Load. A body that was sent does not change any more, but for an
// *Iteration, which is valid only while the event is taken.
type Body interface{ body() }

// Begin starts a run, or starts it again: what was known of it before is dropped, the
// log and the table of an ablation excepted. The state becomes Preparing.
type Begin struct {
	Info     RunInfo
	Settings settings.Values
}

// Changed is a setting that changed, and all settings after it. It comes before the
// first iteration under the new value.
type Changed struct {
	Change
	Settings settings.Values
}

// Next holds the settings that a restart begins with, where they were changed. It counts
// until the next Begin.
type Next struct{ Settings settings.Values }

// StateChange is a new state. Why is what made a run fail, or the limit that finished
// it, and empty otherwise.
type StateChange struct {
	State State
	Why   string
	// Ran is the running time before it, for a reader that has not followed the run from its
	// beginning; 0 for any other.
	Ran time.Duration
}

// LogEntry is a line for the log.
type LogEntry struct {
	Text    string
	Refused bool // a command could not be carried out
}

// LayerTimes are the times of the layers, and the roofs that they are judged by, nil for
// none. No layers end the profile.
type LayerTimes struct {
	Layers []Layer
	Roofs  *Roofs
}

// Resident is the memory of the process as its operating system counts it, in bytes.
type Resident struct {
	RSS, Peak   int64
	Reason      string // why they cannot be read; empty where they can
	Collectable int64  // part of RSS that the garbage collector may return or reuse
}

// Load is a reading of the machine's counters of processor time.
type Load struct{ machine.Load }

func (*Begin) body()       {}
func (*Iteration) body()   {}
func (*Changed) body()     {}
func (*Next) body()        {}
func (*StateChange) body() {}
func (*Measurement) body() {}
func (*UnitResult) body()  {}
func (*LogEntry) body()    {}
func (*Picture) body()     {}
func (*Memory) body()      {}
func (*LayerTimes) body()  {}
func (*Ablation) body()    {}
func (*Fork) body()        {}
func (*Resident) body()    {}
func (*Load) body()        {}

// Source is where events come from: the Reader of a live run's Stream, a replay, or a
// process outside. It is used by one goroutine.
type Source interface {
	// Drain calls take with every event since the last call, oldest first, and returns
	// whether there were any. take must not keep the *Event, nor the *Iteration in it.
	Drain(take func(*Event)) bool

	// Dropped is the number of events that were lost because Drain was called too seldom.
	Dropped() int64
}

// Asker is a Source that makes pictures when asked.
type Asker interface {
	// WantPicture asks for a picture of the run's present state.
	WantPicture()
}

// Reporter is a Source in whose process the run is. It takes readings of the machine,
// which then come as events to everyone who follows the run.
type Reporter interface {
	// Report sends a reading, a *Resident or a *Load, taken at a time.
	Report(at time.Time, reading Body)
	// Reports says whether Report sends anything: one in a process is enough.
	Reports() bool
}
