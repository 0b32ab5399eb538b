package training

import (
	"prismtop/profiles"
	"prismtop/sim/nn"
)

// The phases of an iteration, in the order of the schema.
const (
	PhaseLoad      profiles.Phase = iota // the minibatch's groups: amplitudes, counts, offsets
	PhaseForward                         // the network, up to the objects of the groups
	PhasePhysics                         // their diffraction under the probe
	PhaseLoss                            // against the counts
	PhaseBackward                        // gradients of all three
	PhaseOptimizer                       // Adam
	PhaseMetrics                         // the test groups, and the comparison with the truth
)

// KindMinibatch is the only kind of iteration.
const KindMinibatch profiles.Kind = 0

// The series.
const (
	SeriesLoss         = iota // of the minibatch: Poisson, less the least possible
	SeriesTestLoss            // the same over the test groups, at the end of an epoch
	SeriesPoisson             // of the minibatch: the loss that is minimised
	SeriesPSNR                // of the amplitude, dB, data range 1
	SeriesSSIM                // of the amplitude
	SeriesRMSE                // of the amplitude, percent of the truth's root mean square
	SeriesPhaseError          // radians
	SeriesObjectError         // of the complex object, percent of the truth's root mean square
	SeriesLearningRate        // Adam's step
)

// The categories of memory.
const (
	MemoryWeights = iota
	MemoryGradients
	MemoryMoments
	MemoryActivations
	MemoryInputs
	MemoryScratch
	MemoryScan
)

// The pictures: the part of the object that the test groups cover.
const (
	PictureAmplitude = iota
	PictureTruth
	PicturePhase // as PicturePhaseTruth in radians above −π
	PicturePhaseTruth
)

// noTruth is why it is not, for data without objectGuess.
const noTruth = "the data have no objectGuess to compare with"

const notCompared = "the reconstruction was not compared with the truth"

// Schema describes the records of a training.
func Schema() profiles.Schema {
	return profiles.Schema{
		Workload: "ptycho-training",
		Unit:     profiles.Unit{One: "epoch", Many: "epochs"},
		Stages:   []string{"training"},
		Kinds:    []profiles.KindInfo{KindMinibatch: {Name: "minibatches", Units: true}},
		Phases: []profiles.PhaseInfo{
			PhaseLoad: {Name: "load", Colour: 7,
				What: "the groups of the minibatch: normalised amplitudes, counts and offsets"},
			PhaseForward: {Name: "forward", Colour: 1, What: "the network, and the merge of each group's patches"},
			PhasePhysics: {Name: "physics", Colour: 2,
				What: "the objects under the probe, diffracted to the far field"},
			PhaseLoss:      {Name: "loss", Colour: 3, What: "the Poisson loss against the counts"},
			PhaseBackward:  {Name: "backward", Colour: 4, What: "all gradients"},
			PhaseOptimizer: {Name: "optimizer", Colour: 5, What: "Adam"},
			PhaseMetrics: {Name: "metrics", Colour: 6,
				What:    "the objects and the loss of the test groups, and their comparison with the truth",
				Looking: true},
		},
		Series: []profiles.SeriesInfo{
			SeriesLoss: {Name: "loss", Title: "train",
				What:   "the Poisson loss of the minibatch, less that of a perfect prediction",
				Better: profiles.LessIsBetter,
				Scale:  profiles.Logarithmic, Group: profiles.Losses, Each: true},
			SeriesTestLoss: {Name: "test_loss", Title: "test",
				What: "that of the groups kept for testing, at the end of each epoch", Better: profiles.LessIsBetter,
				Scale: profiles.Logarithmic, Group: profiles.Losses, Absent: "no epoch ended"},
			SeriesPoisson: {Name: "poisson_loss", Title: "Poisson", Unit: "nats a pixel",
				Better: profiles.LessIsBetter, Each: true},
			SeriesPSNR: {Name: "psnr_db", Title: "PSNR", Unit: "dB", Better: profiles.MoreIsBetter,
				Group: profiles.Metrics, Absent: notCompared, Infinite: "the amplitude equals the truth"},
			SeriesSSIM: {Name: "ssim", Title: "SSIM", Unit: "0 to 1", Better: profiles.MoreIsBetter,
				Group: profiles.Metrics, Absent: notCompared},
			SeriesRMSE: {Name: "rmse_percent", Title: "RMSE", Unit: "% of the truth's RMS",
				Better: profiles.LessIsBetter, Group: profiles.Metrics, Absent: notCompared},
			SeriesPhaseError: {Name: "phase_error_rad", Title: "phase error", Unit: "rad",
				Better: profiles.LessIsBetter,
				Group:  profiles.Metrics, Absent: notCompared},
			SeriesObjectError: {Name: "object_error_percent", Title: "object error", Unit: "% of the truth's RMS",
				Better: profiles.LessIsBetter,
				Group:  profiles.Metrics, Absent: notCompared},
			SeriesLearningRate: {Name: "learning_rate", Title: "learning rate", Each: true, Internal: true},
		},
		Memory: []profiles.MemoryInfo{
			MemoryWeights: {Name: "weights", Parameters: true}, MemoryGradients: {Name: "gradients", Parameters: true},
			MemoryMoments: {Name: "moments", Parameters: true}, MemoryActivations: {Name: "activations"},
			MemoryInputs: {Name: "inputs"}, MemoryScratch: {Name: "scratch"}, MemoryScan: {Name: "scan"},
		},
		Pictures: []profiles.PictureInfo{
			PictureAmplitude: {Name: "reconstruction", Live: true}, PictureTruth: {Name: "truth"},
			PicturePhase: {Name: "phase", Live: true}, PicturePhaseTruth: {Name: "phase_truth"},
		},
		Quality: "psnr_db",
		Tips: []profiles.AlertAdvice{
			{Alert: "not-finite", Try: "Halve the learning rate {lower learning_rate} and restart {restart}."},
		},
	}
}

// recordedPhases maps the phases of a plan's steps to those of a record.
var recordedPhases = [nn.NumPhases]profiles.Phase{
	nn.PhaseForward:   PhaseForward,
	nn.PhaseTelescope: PhasePhysics,
	nn.PhaseLoss:      PhaseLoss,
	nn.PhaseBackward:  PhaseBackward,
	nn.PhaseOptimizer: PhaseOptimizer,
}
