// Package settings describes the settings of a workload in a table, and holds their values:
// the name, meaning and range of each, whether it can change during a run, and how a
// screen, a document and an ablation present it. It is independent of any workload.
//
// A workload declares a Table. Values hold one value for each of its keys; they are
// immutable, so that a run, a record and a screen can share them: Set and With return new
// ones.
package settings

// The keys that every workload may have, and assignments with the origin of each value.

// Keys that a run looks for in the settings of every workload. All are optional.
const (
	MaxIterations = "max_iterations"  // ends the run; 0 means no limit
	MaxSeconds    = "max_seconds"     // ends the run; 0 means no limit
	LayerProfile  = "layer_profile"   // publishes layer times
	Threads       = "threads"         // host threads; 0 means one per core
	Device        = "device"          // the computing device
	Seed          = "seed"            //
	BatchSize     = "batch_size"      // items that an iteration processes: Schema.Item
	AutoTune      = "auto_tune"       // looks for the batch size of the most items a second
	AdaptBatch    = "adapt_batch"     // halves and doubles the batch size by memory pressure
	MemoryLimit   = "memory_limit_mb" // bound of the run's memory, in MiB; 0 means none
	Decide        = "decide"          // what follows a press of a key: DecideAuto, DecideAsk or DecideOff
)

// The values of the setting Decide.
const (
	DecideAuto = "auto" // a revertible change is switched back and forth until its effect is decided
	DecideAsk  = "ask"  // only where a replication is asked for
	DecideOff  = "off"  // likewise, and the screen offers none
)

// MaxUnits returns the key that ends a run after a number of units of work, given the
// plural of their name: "max_samples". 0 means all.
func MaxUnits(units string) string { return "max_" + units }

// Assignment is a key and its new value, as Set reads it.
type Assignment struct{ Key, Value string }

// Origins gives the origin of each key's value: "preset moon", also if moon has it from the
// preset it is based on, "file x.toml", "environment
// PRISMTOP_RADIUS", "flag --set", "flag --image".
type Origins map[string]string
