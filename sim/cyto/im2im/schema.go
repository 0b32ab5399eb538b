package im2im

import (
	"prismtop/profiles"
	"prismtop/sim/nn"
)

// The phases of an iteration of training, in the order of its schema.
const (
	PhaseLoad      profiles.Phase = iota // waiting for a batch, or making it without workers
	PhaseToDevice                        // copying it to the plan's inputs
	PhaseForward                         // the network
	PhaseLoss                            // against the targets
	PhaseBackward                        // gradients
	PhaseOptimizer                       // Adam
	PhaseValidate                        // held-out patches and volumes
	NumTrainingPhases
)

// The phases of an iteration of prediction, the first three as in training.
const (
	PhasePostprocess profiles.Phase = PhaseForward + 1 + iota // blending, sigmoid, bytes
	PhaseCompare                                              // with the targets
	NumPredictionPhases
)

// Kinds of iterations.
const (
	KindMinibatch  profiles.Kind = 0 // of training
	KindPrediction profiles.Kind = 0 // of a schema of its own
)

// The series that training and prediction share.
const (
	SeriesSimilarity = iota // of the held-out volumes: Dice, or the correlation of a signal
	SeriesThroughput        // patches or images a second, of the iteration
	SeriesLoading           // milliseconds that the batch took whoever made it
	numShared
)

// The series of training alone.
const (
	SeriesLoss         = numShared + iota // of the minibatch
	SeriesValLoss                         // of held-out patches, at the end of an epoch
	SeriesLearningRate                    // Adam's step
)

// The categories of memory.
const (
	MemoryWeights = iota
	MemoryGradients
	MemoryMoments
	MemoryActivations
	MemoryInputs
	MemoryScratch
	MemoryImages
)

// The pictures: a plane of a held-out volume, the one with the most target.
const (
	PicturePrediction = iota
	PictureTarget
	PictureRaw
)

// Schema describes the records of a training for segmentation, the default.
func Schema() profiles.Schema {
	return schemaOf(&Settings{Mode: Train, Experiment: Segmentation})
}

// SchemaOf describes the records of a mode and an experiment.
func SchemaOf(mode, experiment string) profiles.Schema {
	return schemaOf(&Settings{Mode: mode, Experiment: experiment})
}

// schemaOf describes the records of an experiment.
func schemaOf(s *Settings) profiles.Schema {
	schema := profiles.Schema{
		Workload: Table.Workload,
		Series:   sharedSeries(s),
		Memory: []profiles.MemoryInfo{
			MemoryWeights: {Name: "weights", Parameters: true}, MemoryGradients: {Name: "gradients", Parameters: true},
			MemoryMoments: {Name: "moments", Parameters: true}, MemoryActivations: {Name: "activations"},
			MemoryInputs: {Name: "inputs"}, MemoryScratch: {Name: "scratch"}, MemoryImages: {Name: "images"},
		},
		Pictures: []profiles.PictureInfo{
			PicturePrediction: {Name: "prediction", Live: true},
			PictureTarget:     {Name: "target", Live: s.Mode == Predict},
			PictureRaw:        {Name: "raw", Live: s.Mode == Predict},
		},
	}
	schema.Quality = schema.Series[SeriesSimilarity].Name
	if s.Mode == Predict {
		ofPrediction(&schema)
	} else {
		ofTraining(&schema)
	}
	return schema
}

// sharedSeries are those of both modes.
func sharedSeries(s *Settings) []profiles.SeriesInfo {
	similarity := profiles.SeriesInfo{Name: "dice", Title: "Dice",
		What: "twice the voxels inside both the prediction and the target by the voxels inside each"}
	if s.Experiment == LabelFree {
		similarity = profiles.SeriesInfo{Name: "correlation", Title: "correlation",
			What: "Pearson's, between the predicted signal and the target"}
	}
	similarity.Better, similarity.Group, similarity.Absent = profiles.MoreIsBetter, profiles.Metrics,
		"no held-out volume was predicted"
	return []profiles.SeriesInfo{
		SeriesSimilarity: similarity,
		SeriesThroughput: {Name: "samples_per_s", Title: "throughput", Unit: "samples/s",
			Better: profiles.MoreIsBetter, Group: profiles.Metrics, Each: true},
		SeriesLoading: {Name: "loading_ms", Title: "loading lane", Unit: "ms of work a batch",
			Better: profiles.LessIsBetter, Group: profiles.Metrics, Each: true,
			What: "the time that making the batch took, on the loop or on a worker"},
	}
}

func ofTraining(schema *profiles.Schema) {
	schema.Unit = profiles.Unit{One: "epoch", Many: "epochs"}
	schema.Stages = []string{"training"}
	schema.Kinds = []profiles.KindInfo{KindMinibatch: {Name: "minibatches", Units: true}}
	schema.Phases = []profiles.PhaseInfo{
		PhaseLoad: {Name: "load", Colour: 7,
			What: "waiting for a minibatch of random patches, or making it without workers"},
		PhaseToDevice: {Name: "to_device", Colour: 2, What: "copying the minibatch to the plan's inputs"},
		PhaseForward:  {Name: "forward", Colour: 1, What: "the network"},
		PhaseLoss: {Name: "loss", Colour: 3,
			What: "Dice and cross-entropy against the masks, or the squared error against the signal"},
		PhaseBackward:  {Name: "backward", Colour: 4, What: "all gradients"},
		PhaseOptimizer: {Name: "optimizer", Colour: 5, What: "Adam"},
		PhaseValidate: {Name: "validate", Colour: 6,
			What: "the loss of held-out patches, held-out volumes, and the pictures", Looking: true},
	}
	schema.Series = append(schema.Series,
		profiles.SeriesInfo{Name: "loss", Title: "train", What: "the loss of the minibatch",
			Better: profiles.LessIsBetter,
			Scale:  profiles.Logarithmic, Group: profiles.Losses, Each: true},
		profiles.SeriesInfo{Name: "val_loss", Title: "val",
			What: "that of held-out patches, at the end of each epoch", Better: profiles.LessIsBetter,
			Scale: profiles.Logarithmic, Group: profiles.Losses, Absent: "no epoch ended"},
		profiles.SeriesInfo{Name: "learning_rate", Title: "learning rate", Each: true, Internal: true})
	schema.Tips = []profiles.AlertAdvice{{Alert: "not-finite",
		Try: "Halve the learning rate {lower learning_rate} and restart {restart}."}}
}

func ofPrediction(schema *profiles.Schema) {
	schema.Unit = profiles.Unit{One: "pass", Many: "passes"}
	schema.Stages = []string{"prediction"}
	schema.Kinds = []profiles.KindInfo{KindPrediction: {Name: "batches", Units: true}}
	schema.Phases = []profiles.PhaseInfo{
		PhaseLoad: {Name: "load", Colour: 7,
			What: "waiting for a batch of whole images, or making it without workers"},
		PhaseToDevice: {Name: "to_device", Colour: 2, What: "copying windows to the plan's inputs"},
		PhaseForward:  {Name: "forward", Colour: 1, What: "the network"},
		PhasePostprocess: {Name: "postprocess", Colour: 5,
			What: "blending the windows, the sigmoid, and the images as bytes"},
		PhaseCompare: {Name: "validate", Colour: 6,
			What: "comparing the images with their targets, and the pictures", Looking: true},
	}
}

// recordedPhases maps the phases of a plan's steps to those of a record.
var recordedPhases = [nn.NumPhases]profiles.Phase{
	nn.PhaseForward:   PhaseForward,
	nn.PhaseLoss:      PhaseLoss,
	nn.PhaseBackward:  PhaseBackward,
	nn.PhaseOptimizer: PhaseOptimizer,
}
