// Package training teaches PtychoPINN's network to reconstruct a simulated scan, as a
// workload (spec/ptycho-cyto.md §A1.5): minibatches of groups, the diffraction of the
// network's own objects, a Poisson loss against the counts, Adam. No object is shown to
// the network; the truth serves to measure how close it came, on groups that it was not
// trained on.
package training

import (
	"embed"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
)

// Settings is every setting of a training. The zero value is not usable: start from a
// preset. The tags are the keys of Table, which describes them.
type Settings struct {
	// The scan.
	Size        int     `setting:"size"`
	Data        string  `setting:"data"`
	DataAs      string  `setting:"data_as"`
	DataFactor  float64 `setting:"data_factor"`
	ObjectSize  int     `setting:"object_size"`
	Positions   int     `setting:"positions"`
	Photons     float64 `setting:"photons"`
	ObjectPhase bool    `setting:"object_phase"`
	Curvature   float64 `setting:"probe_curvature"`

	// The network.
	GridSize      int    `setting:"gridsize"`
	FiltersScale  int    `setting:"filters_scale"`
	AmpActivation string `setting:"amp_activation"`
	Heads         string `setting:"heads"`

	// The training.
	Batch        int     `setting:"batch"`
	Epochs       int     `setting:"epochs"`
	TestShare    float64 `setting:"test_share"`
	LearningRate float64 `setting:"learning_rate"`
	Scheduler    string  `setting:"scheduler"`
	Patience     int     `setting:"patience"`

	// Limits of the run.
	MaxIterations int64   `setting:"max_iterations"`
	MaxEpochs     int     `setting:"max_epochs"`
	MaxSeconds    float64 `setting:"max_seconds"`

	// How it is computed.
	Checkpointing  bool   `setting:"checkpointing"`
	FusedOptimizer bool   `setting:"fused_optimizer"`
	AMP            string `setting:"amp"`
	Threads        int    `setting:"threads"`
	Kernels        string `setting:"kernels"`
	LayerProfile   bool   `setting:"layer_profile"`
	Decide         string `setting:"decide"`
	Device         string `setting:"device"`
	Seed           uint64 `setting:"seed"`
}

//go:embed presets/*.toml
var embedded embed.FS

// Presets returns the named sets of settings.
func Presets() preset.Shelf { return preset.Embedded(Table, embedded, "ptycho-train") }

// From reads the values of Table.
func From(v settings.Values) Settings {
	var s Settings
	v.Decode(&s)
	return s
}

// network returns the network that is trained.
func (s *Settings) network() ptycho.Config {
	return ptycho.Config{Size: s.Size, GridSize: s.GridSize, FiltersScale: s.FiltersScale, ProbeBig: true,
		AmpActivation: s.AmpActivation, Heads: s.Heads, Seed: s.Seed}
}

// scan returns the scan that is simulated.
func (s *Settings) scan() scan.Options {
	return scan.Options{
		Size: s.Size, ObjectSize: s.ObjectSize, Positions: s.Positions, Photons: s.Photons, Phase: s.ObjectPhase,
		Curvature: s.Curvature, Seed: s.Seed,
	}
}

// data returns how the scan's file is read.
func (s *Settings) data() scan.ReadOptions {
	return scan.ReadOptions{As: s.DataAs, Factor: s.DataFactor}
}

// plan returns the options of the training plan.
func (s *Settings) plan() ptycho.PlanOptions {
	return ptycho.PlanOptions{Batch: s.Batch, Checkpointing: s.Checkpointing,
		FusedOptimizer: s.FusedOptimizer}.With(ptycho.Precision(s.AMP))
}

// testGroups is the number of groups that are kept apart from training, of one a
// position: the share, rounded to whole minibatches, and at least one.
func (s *Settings) testGroups() int {
	batches := int(s.TestShare*float64(s.Positions)/float64(s.Batch) + 0.5)
	return max(batches, 1) * s.Batch
}

// batches is the number of minibatches of an epoch. The groups that are left over differ
// from epoch to epoch.
func (s *Settings) batches() int { return (s.Positions - s.testGroups()) / s.Batch }
