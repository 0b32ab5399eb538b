// Package im2im trains CytoDL's network and predicts with it, as a workload
// (spec/ptycho-cyto.md §B2): the experiments im2im/segmentation and im2im/labelfree on
// synthetic cells or on lists of files. In training an iteration is a minibatch of random
// patches and an epoch a unit of work; in prediction an iteration is a batch of whole
// images, each predicted in windows, and a pass over them a unit. Held-out volumes, which
// training never sees, give the quality and the pictures.
package im2im

import (
	"embed"
	"fmt"
	"strconv"
	"strings"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cyto"
	"prismtop/sim/cyto/loader"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Settings is every setting of an experiment. The zero value is not usable: start from a
// preset. The tags are the keys of Table, which describes them.
type Settings struct {
	// The experiment.
	Mode       string `setting:"mode"`
	Experiment string `setting:"experiment"`
	Axes       int    `setting:"axes"`
	Patch      string `setting:"patch"`

	// The data.
	Data          string  `setting:"data"`
	CacheImages   bool    `setting:"cache_images"`
	Zoom          float64 `setting:"zoom"`
	Plane         int     `setting:"plane"`
	ImageColumn   string  `setting:"image_column"`
	TargetColumn  string  `setting:"target_column"`
	ImageChannel  string  `setting:"image_channel"`
	TargetChannel string  `setting:"target_channel"`
	Volumes       int     `setting:"volumes"`
	HeldOut       int     `setting:"held_out"`
	Depth         int     `setting:"depth"`
	Side          int     `setting:"side"`
	Cells         int     `setting:"cells"`
	Noise         float64 `setting:"noise"`

	// The training.
	Epochs       int     `setting:"epochs"`
	Patches      int     `setting:"patches_per_image"`
	TrainLimit   int     `setting:"limit_train_batches"`
	ValLimit     int     `setting:"limit_val_batches"`
	LearningRate float64 `setting:"learning_rate"`
	Augment      bool    `setting:"augment"`

	// The prediction.
	Passes       int    `setting:"passes"`
	PredictLimit int    `setting:"limit_predict_batches"`
	Weights      string `setting:"weights"`
	Predictions  string `setting:"predictions"`

	// Limits of the run.
	MaxIterations int64   `setting:"max_iterations"`
	MaxEpochs     int     `setting:"max_epochs"`
	MaxPasses     int     `setting:"max_passes"`
	MaxSeconds    float64 `setting:"max_seconds"`

	// How it is computed.
	Batch         int     `setting:"batch"`
	WindowBatch   int     `setting:"window_batch"`
	Overlap       float64 `setting:"overlap"`
	Workers       int     `setting:"workers"`
	Prefetch      int     `setting:"prefetch"`
	Persistent    bool    `setting:"persistent_workers"`
	Replicas      int     `setting:"replicas"`
	AMP           string  `setting:"amp"`
	Winograd      bool    `setting:"winograd"`
	Checkpointing bool    `setting:"checkpointing"`
	Threads       int     `setting:"threads"`
	Kernels       string  `setting:"kernels"`
	LayerProfile  bool    `setting:"layer_profile"`
	Decide        string  `setting:"decide"`
	Device        string  `setting:"device"`
	Seed          uint64  `setting:"seed"`
}

// Values of settings.
const (
	Train   = "train" // mode
	Predict = "predict"

	Segmentation = "segmentation" // experiment
	LabelFree    = "labelfree"

	trained = "trained" // weights
	seeded  = "seeded"
)

//go:embed presets/*.toml
var embedded embed.FS

// Presets returns the named sets of settings.
func Presets() preset.Shelf { return preset.Embedded(Table, embedded, "cyto-train") }

// From reads the values of Table.
func From(v settings.Values) Settings {
	var s Settings
	v.Decode(&s)
	return s
}

// network returns the network of the settings.
func (s *Settings) network() cyto.Config {
	c := cyto.DefaultConfig(s.Axes)
	c.Seed = s.Seed
	return c
}

// patch returns Z, Y and X of a training patch, and of a window; zeros if the setting is
// not one.
func (s *Settings) patch() [3]int {
	sides, err := ParsePatch(s.Patch, s.Axes)
	if err != nil {
		return [3]int{}
	}
	return sides
}

// maxPatch bounds the sides of a patch against typing errors.
const maxPatch = 1024

// ParsePatch reads the sides of a patch, 16x32x32 for volumes and 64x64 for planes.
func ParsePatch(text string, axes int) (sides [3]int, err error) {
	parts := strings.Split(text, "x")
	if len(parts) != axes {
		return sides, errPatch[axes]
	}
	sides[0] = 1
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < multiple || n > maxPatch || n%multiple != 0 {
			return [3]int{}, errPatch[axes]
		}
		sides[3-axes+i] = n
	}
	return sides, nil
}

// multiple is the number by which the network's three levels divide sides.
const multiple = 4

// errPatch says what a patch must be, by the number of axes.
var errPatch = map[int]error{
	2: fmt.Errorf("must be the sides of a plane, multiples of %d up to %d, as 64x64", multiple, maxPatch),
	3: fmt.Errorf("must be the sides of a volume, multiples of %d up to %d, as 16x32x32", multiple, maxPatch),
}

// volume returns Z, Y and X of a synthetic image.
func (s *Settings) volume() [3]int {
	if s.Axes == 2 {
		return [3]int{1, s.Side, s.Side}
	}
	return [3]int{s.Depth, s.Side, s.Side}
}

// loss returns what the experiment is trained on.
func (s *Settings) loss() cyto.Loss {
	if s.Experiment == LabelFree {
		return cyto.MeanSquare
	}
	return cyto.DiceBCE
}

// replicas is the number of copies of the network.
func (s *Settings) replicas() int {
	if s.Mode == Predict {
		return 1
	}
	return s.Replicas
}

// trainingPlan returns the options of the training plan.
func (s *Settings) trainingPlan() cyto.PlanOptions {
	o := s.windows()
	o.Batch, o.Loss, o.Train, o.Checkpointing = s.Batch, s.loss(), true, s.Checkpointing
	return o
}

// windows returns the options of the plan that predicts windows.
func (s *Settings) windows() cyto.PlanOptions {
	o := cyto.PlanOptions{Batch: s.WindowBatch, Sides: s.patch()}
	if s.AMP == "bf16" {
		o.AMP = tensor.BFloat16
	} else if s.Winograd {
		o.Products = nn.Winograd
	}
	return o
}

// lane returns how the data are loaded beside the loop.
func (s *Settings) lane() loader.Lane {
	return loader.Lane{Workers: s.Workers, Prefetch: s.Prefetch, Persistent: s.Persistent}
}

// trainingBatches returns how batches to learn from are made.
func (s *Settings) trainingBatches() loader.Options {
	return loader.Options{
		Batch: s.Batch, Patch: s.patch(), PatchesPerImage: s.Patches, Augment: s.Augment &&
			s.Experiment == Segmentation,
		Shuffle: true, Last: loader.FillLast, Limit: s.TrainLimit, Seed: s.Seed, Lane: s.lane(),
	}
}

// validationBatches returns how batches of held-out patches are made, the same in every
// epoch.
func (s *Settings) validationBatches() loader.Options {
	return loader.Options{Batch: s.Batch, Patch: s.patch(), PatchesPerImage: s.Patches, Last: loader.FillLast,
		Limit: s.ValLimit, Seed: s.Seed}
}

// predictionBatches returns how batches of whole images are made.
func (s *Settings) predictionBatches() loader.Options {
	return loader.Options{Batch: s.Batch, Limit: s.passLimit(), Seed: s.Seed, Lane: s.lane()}
}

// passes and passLimit are the passes of a prediction and the batches of each at most, 0
// for all. A prediction into files is one pass over all images.
func (s *Settings) passes() int {
	if s.Predictions != "" {
		return 1
	}
	return s.Passes
}

func (s *Settings) passLimit() int {
	if s.Predictions != "" {
		return 0
	}
	return s.PredictLimit
}

// heldOutSeed separates the seeds of held-out volumes from those of training.
const heldOutSeed = 1 << 32

// synthetic describes the synthetic volumes to learn from, or the held-out ones.
func (s *Settings) synthetic(heldOut bool) loader.SyntheticOptions {
	o := loader.SyntheticOptions{
		Images: s.Volumes, Signal: s.Experiment == LabelFree, OnDemand: !s.CacheImages,
		Cells: cyto.CellsOptions{Sides: s.volume(), Cells: s.Cells, Noise: s.Noise, Seed: s.Seed},
	}
	if heldOut {
		o.Images, o.Cells.Seed = s.HeldOut, s.Seed+heldOutSeed
	}
	return o
}
