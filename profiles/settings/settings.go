// Package settings describes the settings of a workload in a table, and holds their values:
// what each is called, means and may be, whether it changes while a run goes on, and how a
// screen, a document and an ablation present it. It knows no workload.
//
// A workload declares a Table. Values are one value for each of its keys; they never change,
// so that a run, a record and a screen share them: Set and With give others.
package settings

// Keys that a run looks for in the settings of every workload. None is obligatory.
const (
	MaxIterations = "max_iterations" // ends the run; 0 is no limit
	MaxSeconds    = "max_seconds"    // ends the run; 0 is no limit
	LayerProfile  = "layer_profile"  // publishes the times of the layers
	Threads       = "threads"        // of the host; 0 is one per core
	Device        = "device"         // where it is computed
	Seed          = "seed"           //
)

// MaxUnits is the key that ends a run after so many units of work, by the name of several:
// "max_samples". 0 is all.
func MaxUnits(units string) string { return "max_" + units }

// Assignment is a key and the value that it is to have, as Set reads it.
type Assignment struct{ Key, Value string }

// Origins says where each key's value came from: "preset moon", "preset prism" where moon
// leaves it as in the preset that it is based on, "file x.toml", "environment
// PRISMTOP_RADIUS", "flag --set", "flag --image".
type Origins map[string]string
