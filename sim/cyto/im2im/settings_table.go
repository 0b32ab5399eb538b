package im2im

import (
	"fmt"
	"math"
	"strings"

	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/cyto"
)

// The groups, in the order of Settings.
const (
	groupExperiment = "The experiment"
	groupData       = "The data"
	groupTraining   = "The training"
	groupPrediction = "The prediction"
	groupLimits     = "Limits of the run"
	groupComputing  = "How it is computed"
)

// Why the settings of a group cannot change during a run.
const (
	fixedNetwork = "other weights would be needed"
	fixedData    = "the data are prepared at the start"
	fixedBatches = "the batches are divided at the start"
)

// Why a setting has no effect in the other mode or with other data.
func onlyIn(mode, why string) func(settings.Values) string {
	return func(v settings.Values) string {
		if v.Text("mode") == mode {
			return ""
		}
		return why
	}
}

func onlyTraining(v settings.Values) string { return onlyIn(Train, "a prediction does not train")(v) }

func onlyPrediction(v settings.Values) string {
	return onlyIn(Predict, "a training is divided into epochs")(v)
}

// onlyWithoutFiles is for what files of predictions decide.
func onlyWithoutFiles(v settings.Values) string {
	if why := onlyPrediction(v); why != "" {
		return why
	}
	if v.Text("predictions") == "" {
		return ""
	}
	return "each image is predicted once, into its file"
}

func onlySynthetic(v settings.Values) string {
	if v.Text("data") == "" {
		return ""
	}
	return "the images are those of data"
}

func onlyFiles(v settings.Values) string {
	if v.Text("data") != "" {
		return ""
	}
	return "the images are synthetic"
}

func onlyVolumes(v settings.Values) string {
	if v.Int("axes") == 3 {
		return ""
	}
	return "planes have no depth"
}

// Table is the single definition of each setting's name, meaning, range and presentation.
// The fields of Settings hold the values.
var Table = settings.NewTable("cyto", joined,
	settings.Text(groupExperiment, "mode", "train the network, or predict whole images with it", Train, Predict).Fixed("the run is announced with it"),
	settings.Text(groupExperiment, "experiment", "segmentation: cells from a dye, Dice and cross-entropy; labelfree: a signal from another, mean squared error", Segmentation, LabelFree).
		Fixed(fixedNetwork),
	settings.Integer(groupExperiment, "axes", "", "3 for volumes, 2 for planes", 2, 3).Fixed(fixedNetwork),
	settings.Text(groupExperiment, "patch", "sides of a training patch and of a window of prediction, multiples of 4: 16x32x32, Z first; 64x64 for planes").Fixed(fixedNetwork),

	settings.Text(groupData, "data", "folder with train.csv, valid.csv and test.csv, which list pairs of files; for a prediction also a list, a folder of images or an image").
		Words("synthetic cells", "").Fixed(fixedData),
	settings.Switch(groupData, "cache_images", "keep images in memory, instead of drawing or reading them at every access").Fixed(fixedData),
	settings.Number(groupData, "zoom", "", "factor of all sides of the images of files", 0, 4).Above().Fixed(fixedData).Idle(onlyFiles),
	settings.Integer(groupData, "plane", "", "Z of the plane that a network of planes takes out of a file, from 0", 0, 1<<16).Fixed(fixedData).Idle(func(v settings.Values) string {
		if why := onlyFiles(v); why != "" {
			return why
		}
		if v.Int("axes") == 2 {
			return ""
		}
		return "volumes are taken whole"
	}),
	settings.Text(groupData, "image_column", "column of the images in a list; empty for CytoDL's, raw or brightfield").Words("CytoDL's", "").Fixed(fixedData).Idle(onlyFiles),
	settings.Text(groupData, "target_column", "column of the targets in a list; empty for CytoDL's, seg or signal").Words("CytoDL's", "").Fixed(fixedData).Idle(onlyFiles),
	settings.Text(groupData, "image_channel", "channel of the network's input in a file, a number from 0 or a name; empty for the only one, or CytoDL's, 5 or 6").
		Words("CytoDL's", "").Fixed(fixedData).Idle(onlyFiles),
	settings.Text(groupData, "target_channel", "channel of the target in its file, a number from 0 or a name; empty for the only one, or CytoDL's, 0 or 5").
		Words("CytoDL's", "").Fixed(fixedData).Idle(onlyFiles),
	settings.Integer(groupData, "volumes", "", "synthetic images to learn from", 1, 1<<16).Fixed(fixedData).Idle(func(v settings.Values) string {
		if why := onlySynthetic(v); why != "" {
			return why
		}
		return onlyTraining(v)
	}),
	settings.Integer(groupData, "held_out", "", "synthetic images that training does not see: its quality is measured on them, and a prediction predicts them", 1, 1<<12).
		Fixed(fixedData).Idle(onlySynthetic),
	settings.Integer(groupData, "depth", "voxels", "Z of a synthetic image", 4, 1024).Fixed(fixedData).Idle(func(v settings.Values) string {
		if why := onlySynthetic(v); why != "" {
			return why
		}
		return onlyVolumes(v)
	}),
	settings.Integer(groupData, "side", "voxels", "Y and X of a synthetic image", 4, 4096).Fixed(fixedData).Idle(onlySynthetic),
	settings.Integer(groupData, "cells", "", "nuclei of a synthetic image", 0, 1<<16).Fixed(fixedData).Idle(onlySynthetic),
	settings.Number(groupData, "noise", "", "standard deviation of the noise of a synthetic image, whose nuclei are about 1 above a background of 0.2", 0, 10).
		Fixed(fixedData).Idle(onlySynthetic),

	settings.Integer(groupTraining, "epochs", "", "epochs of a training", 1, 1<<20).Fixed("the run is announced with it").Idle(onlyTraining),
	settings.Integer(groupTraining, "patches_per_image", "", "random patches that an image gives in an epoch", 1, 1<<12).Fixed(fixedBatches).Idle(onlyTraining),
	settings.Integer(groupTraining, "limit_train_batches", "", "minibatches of an epoch at most", 0, 1<<20).Words("", "all").Fixed(fixedBatches).Idle(onlyTraining),
	settings.Integer(groupTraining, "limit_val_batches", "", "batches of held-out patches at most, for the validation loss of an epoch", 0, 1<<20).Words("", "all").
		Fixed(fixedBatches).Idle(onlyTraining),
	settings.Number(groupTraining, "learning_rate", "", "Adam's step in the first epoch; it shrinks to 99.5 % in every other", 0, 1).Above().
		Live().Touches().Called("lr", 'l').Idle(onlyTraining).Press("l", settings.MoveBefore, "halve learning rate").Press("L", settings.MoveNext, "double learning rate").Foremost(4),
	settings.Switch(groupTraining, "augment", "change patches of a segmentation by chance: histogram, brightness, contrast").Fixed(fixedBatches).Idle(onlyTraining),

	settings.Integer(groupPrediction, "passes", "", "passes over the images", 1, 1<<20).Fixed("the run is announced with it").Idle(onlyWithoutFiles),
	settings.Integer(groupPrediction, "limit_predict_batches", "", "batches of a pass at most", 0, 1<<20).Words("", "all").Fixed(fixedBatches).Idle(onlyWithoutFiles),
	settings.Text(groupPrediction, "weights", "trained: those that a training left for this experiment, seeded where there are none; seeded: random ones, for comparisons with other programs",
		trained, seeded).Fixed("the run starts with them").Idle(onlyPrediction),
	settings.Text(groupPrediction, "predictions", "folder for a prediction file of each image, OME-TIFF at its scale; those that are complete are skipped").
		Words("none", "").Fixed("the files are checked at the start").Idle(onlyPrediction),

	settings.IterationLimit(groupLimits),
	settings.UnitLimit(groupLimits, "epoch", "epochs", ""),
	settings.Integer(groupLimits, settings.MaxUnits("passes"), "", "end the run after this many passes; 0 is all", 0, math.MaxInt32).
		Live().Limit().Called("last pass", 'k').Words("", "all").Idle(onlyPrediction),
	settings.TimeLimit(groupLimits),

	settings.Integer(groupComputing, "batch", "", "patches of a minibatch, or whole images of a batch of predictions", 1, 4096).Fixed(fixedBatches),
	settings.Integer(groupComputing, "window_batch", "", "windows of a whole image that the network computes at a time", 1, 1024).
		Live().Touches("forward", "postprocess", "validate").Called("window batch", 'b').
		Press("]", settings.MoveNext, "twice the windows at a time").Press("[", settings.MoveBefore, "half the windows at a time").Foremost(6).
		Compared(3, "1", "4").Idle(onlyIn(Predict, "a training predicts held-out images only to measure its quality")),
	settings.Number(groupComputing, "overlap", "", "part of a window that the next one covers again, below 1", 0, 0.95).
		Live().Touches("forward", "postprocess", "validate").Called("overlap", 'O').Press("O", settings.MoveWrite, "overlap of windows"),
	settings.Integer(groupComputing, "workers", "", "goroutines that load batches beside the loop; 0 loads them on it", 0, 64).
		Live().Touches("load").Called("workers", 'w').
		Press("W", settings.MoveWrite, "loading workers, typed").Foremost(1).
		Compared(1, "0", "4").Factor("workers", "4"),
	settings.Integer(groupComputing, "prefetch", "batches", "batches that each worker is ahead", 1, 64).Live().Touches("load").Called("prefetch", 'f').
		Press("f", settings.MoveWrite, "batches that each worker is ahead").Idle(func(v settings.Values) string {
		if v.Int("workers") > 0 {
			return ""
		}
		return "without workers nothing is loaded ahead"
	}),
	settings.Switch(groupComputing, "persistent_workers", "workers stay and load ahead over the end of an epoch").Live().Touches("load").Called("persistent", 'p').
		Press("p", settings.MoveNext, "persistent workers").Idle(func(v settings.Values) string {
		if v.Int("workers") > 0 {
			return ""
		}
		return "there are no workers"
	}),
	settings.Integer(groupComputing, "replicas", "", "copies of the network that train on a part of each minibatch and average their gradients; on GPUs, one each", 1, 16).
		Fixed("the minibatches are divided at the start").Idle(onlyTraining),
	settings.Text(groupComputing, "amp", "mixed precision: bf16 rounds the operands of the convolutions", "off", "bf16").
		Live().Touches("forward", "backward", "validate").Revertible().Called("AMP", 'a').
		Press("a", settings.MoveToggle, "mixed precision: on, off").Foremost(2).
		Compared(4, "off", "bf16").Factor("amp", "bf16").
		Listed(1, "float32", "the range of float32 with 8 bits of precision"),
	settings.Switch(groupComputing, "winograd", "3x3x3 convolutions by Winograd's F(4x4, 3x3): fewer multiplications, more rounding error than float32's").
		Live().Touches("forward", "backward", "validate").Revertible().Called("Winograd", 'G').
		Press("G", settings.MoveNext, "convolutions by Winograd").Foremost(11).
		Compared(5, "false", "true").Factor("winograd", "true").
		Idle(func(v settings.Values) string {
			if v.Text("amp") == "off" {
				return ""
			}
			return "mixed precision computes the convolutions in its own way"
		}),
	settings.Switch(groupComputing, "checkpointing", "recompute activations in the backward pass instead of keeping them: less memory, more time").
		Live().Touches("forward", "backward").Revertible().Called("recompute", 'c').Idle(onlyTraining).
		Press("c", settings.MoveNext, "recompute activations").Foremost(3).
		Compared(2, "false", "true").Factor("checkpointing", "true"),
	settings.Integer(groupComputing, settings.Threads, "", "worker threads; 0 is one per core", 0, 1024).Live().Called("threads", '+').Press("-", settings.MoveBefore, "one thread fewer").Press("+", settings.MoveNext, "one thread more").Foremost(9),
	settings.Text(groupComputing, "kernels", "instruction set of the CPU's kernels; auto takes the fastest; avx512-bf16 and amx are avx512 with products of bf16 by AVX512_BF16 or by AMX",
		"auto", "avx512-bf16", "amx", "avx512", "avx2", "go").Fixed("the weights are laid out for it"),
	settings.Switch(groupComputing, settings.LayerProfile, "show the layer that takes longest, beside what this machine can do at most").
		Live().Called("layer profile", 'y').Press("y", settings.MoveNext, "profile of the layers"),
	settings.Deciding(groupComputing),
	settings.Computing(groupComputing),
	settings.Integer(groupComputing, settings.Seed, "", "seed of the first weights, the synthetic cells, the patches and the order of the images", 0, settings.MaxInteger).
		Fixed("the first weights and the data came from it"),
).As(settings.Roles{Rate: "learning_rate", Precision: "amp"})

// joined checks the rules that involve several settings, for this machine's memory.
func joined(v settings.Values) error { return joinedWith(v, machine.ReadMemory().Allowed()) }

func joinedWith(v settings.Values, memory int64) error {
	s := From(v)
	if _, err := ParsePatch(s.Patch, s.Axes); err != nil {
		return v.Wrong("patch", err.Error())
	}
	if s.Data == "" {
		patch, volume := s.patch(), s.volume()
		for axis, key := range []string{"depth", "side"} {
			if volume[axis] < patch[axis] {
				return v.Wrong(key, fmt.Sprintf("must be at least %d, the patch", patch[axis]))
			}
		}
	}
	if s.Mode == Train && s.Batch%s.Replicas != 0 {
		return v.Wrong("batch", fmt.Sprintf("must be a multiple of the %d replicas", s.Replicas))
	}
	if least := s.leastMemory(); memory > 0 && least > float64(memory) {
		key := "batch"
		switch {
		case s.dataBytes() > least/2:
			key = "side"
		case s.Mode == Predict:
			key = "window_batch"
		}
		return v.Wrong(key, fmt.Sprintf("needs at least %s of memory, this machine has %s: must be smaller", unit.Memory(least), unit.Memory(float64(memory))))
	}
	return nil
}

// dataBytes is the memory of the synthetic images and their targets.
func (s *Settings) dataBytes() float64 {
	if s.Data != "" {
		return 0
	}
	images := s.HeldOut
	if s.Mode == Train {
		images += s.Volumes
	}
	return 8 * float64(images) * voxels(s.volume())
}

func voxels(sides [3]int) float64 { return float64(sides[0]) * float64(sides[1]) * float64(sides[2]) }

// leastMemory is a lower bound of a run's memory: the images, and the results of the
// network's first level that a plan holds at a time, two volumes of them; training keeps
// as many for the backward pass.
func (s *Settings) leastMemory() float64 {
	at := s.Batch
	if s.Mode == Predict {
		at = s.WindowBatch
	}
	if strings.HasPrefix(s.Device, "cuda") { // which has memory of its own for plans
		return s.dataBytes()
	}
	first := float64(cyto.DefaultConfig(s.Axes).Filters[0])
	return s.dataBytes() + 2*4*first*float64(at)*voxels(s.patch())
}
