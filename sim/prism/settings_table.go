package prism

import (
	"math"

	"prismtop/profiles/settings"
	"prismtop/sim/optics"
)

// The groups, in the order of Settings.
const (
	groupPicture    = "The picture"
	groupInstrument = "The instrument"
	groupSampling   = "The sampling of k-space"
	groupDecoder    = "The decoder"
	groupLosses     = "The loss and its minimiser"
	groupInitial    = "The initialisation phase"
	groupLimits     = "Limits of the run"
	groupComputing  = "How it is computed"
)

// Why the settings of a group cannot change during a run.
const (
	fixedPicture    = "the picture is loaded at the start"
	fixedInstrument = "masks and measurements rest on it"
	fixedSampling   = "all samples are placed at the start"
	fixedDecoder    = "other weights would be needed"
	fixedInitial    = "it is read when the phase begins"
)

const measuredKey = "measured"

// Table is the single definition of each setting's name, meaning, range and presentation.
// The fields of Settings hold the values.
var Table = settings.NewTable("prism", joined,
	settings.Text(groupPicture, "object", "built-in object, drawn by the program",
		"moon", "usaf", "star", "points").Fixed(fixedPicture),
	settings.Text(groupPicture, "image", "picture file; wins over object when set").Words("none", "").Fixed(fixedPicture),
	settings.Switch(groupPicture, "invert", "invert the picture's intensities").Fixed(fixedPicture),
	settings.Text(groupPicture, measuredKey, "NPZ file of an instrument's measurements, which stand for the picture and the simulated telescope").Words("none", "").Optional("").Fixed(fixedPicture),

	settings.Integer(groupInstrument, "size", "pixels", "side of the field", 16, maxSide).
		Rule("a power of two", powerOfTwo).Fixed(fixedInstrument),
	settings.Integer(groupInstrument, "object_size", "pixels", "side of the object's window, at most size", 8, maxSide).Fixed(fixedInstrument),
	settings.Text(groupInstrument, "aperture", "shape of an aperture",
		"circular", "hexagonal", "obscured").Fixed(fixedInstrument),
	settings.Number(groupInstrument, "radius", "pixels", "radius of an aperture (hexagon: side), at most size/2", 0, maxSide/2).Above().Fixed(fixedInstrument),
	settings.Number(groupInstrument, "inner_radius", "pixels", "obscured aperture: radius of the central obstruction", 0, maxSide/2).Fixed(fixedInstrument),
	settings.Integer(groupInstrument, "spiders", "", "obscured aperture: number of spider vanes", 0, 64).Fixed(fixedInstrument),
	settings.Number(groupInstrument, "spider_width", "pixels", "obscured aperture: width of a vane; 0 is no vanes", 0, maxSide/2).Fixed(fixedInstrument),
	settings.Text(groupInstrument, "noise", "noise of a measurement",
		"none", "shot", "poisson", "readout", "composite").Fixed(fixedInstrument),
	settings.Number(groupInstrument, "snr", "dB", "signal-to-noise ratio of shot and poisson noise", 0, 200).Fixed(fixedInstrument),
	settings.Number(groupInstrument, "readout_sigma", "amplitude", "standard deviation of readout noise", 0, 1).Fixed(fixedInstrument),

	settings.Text(groupSampling, "sampling", "order and places of the samples",
		optics.PatternNames()...).Fixed(fixedSampling),
	settings.Integer(groupSampling, "samples", "", "number of samples", 1, maxCount).Fixed(fixedSampling),
	settings.Number(groupSampling, "roi_diameter", "pixels", "diameter of the sampled disc, at most size; 0 is size", 0, maxSide).Fixed(fixedSampling),
	settings.Number(groupSampling, "sample_length", "pixels", "length of a line sample; 0 is a point", 0, maxSide).Fixed(fixedSampling),
	settings.Integer(groupSampling, "passes", "", "times the whole pattern is trained; PRISM trains it once", 1, maxCount).Fixed(fixedSampling),

	settings.Integer(groupDecoder, "latent", "channels", "channels of the latent vector; 0 is size", 0, 4*maxSide).Fixed(fixedDecoder),
	settings.List(groupDecoder, "channels", "channels", "channel progression, two or more numbers that end in 1; empty is PRISM's", 1, 4*maxSide).
		Words("PRISM's", "").Fixed(fixedDecoder),
	settings.Switch(groupDecoder, "batch_norm", "batch normalisation").Fixed(fixedDecoder),
	settings.Text(groupDecoder, "output_activation", "activation of the decoder's output",
		"none", "relu", "leaky", "sigmoid", "hardsigmoid", "scalesigmoid", "tanh").Fixed(fixedDecoder),

	settings.Text(groupLosses, "loss", "distance between prediction and target",
		"l1", "l2", "ssim", "ms-ssim", "composite").Live().Touches("telescope", "loss", "backward").Called("loss", 'k').
		Press("k", settings.MoveNext, "next loss").Press("K", settings.MoveBefore, "previous loss").
		Listed(2, "mean absolute difference", "mean squared difference", "1 less structural similarity",
			"the same over five scales", "L1, L2 and SSIM by their weights"),
	settings.Number(groupLosses, "composite_l1", "", "weight of L1 in the composite loss; the three sum to 1", 0, 1).
		Live().Called("weight of L1", 'W').Press("W", settings.MoveWrite, "weight of L1"),
	settings.Number(groupLosses, "composite_l2", "", "weight of L2 in the composite loss", 0, 1).
		Live().Called("weight of L2", 'Y').Press("Y", settings.MoveWrite, "weight of L2"),
	settings.Number(groupLosses, "composite_ssim", "", "weight of SSIM in the composite loss", 0, 1).
		Live().Called("weight of SSIM", 'V').Press("V", settings.MoveWrite, "weight of SSIM"),
	settings.Switch(groupLosses, "normalize_loss", "divide L1 and L2 by the target's mean").
		Live().Touches("telescope", "loss", "backward").Called("normalised loss", 'N').Press("N", settings.MoveNext, "normalised loss"),
	settings.Number(groupLosses, "threshold", "", "a sample ends when both losses are below it; 0 never", 0, math.Inf(1)).Live().Limit().
		Of("samples end at their limits", lossInUse, isLossName).Called("threshold", 'T').
		Press("t", settings.MoveBefore, "halve the threshold").Press("T", settings.MoveNext, "double the threshold"),
	settings.Number(groupLosses, "learning_rate", "", "Adam's step", 0, 10).Above().Live().Touches().Called("lr", 'l').Press("l", settings.MoveBefore, "halve learning rate").Press("L", settings.MoveNext, "double learning rate").Foremost(8),
	settings.Switch(groupLosses, "amsgrad", "Adam's AMSGrad variant").Fixed("its moments are allocated at the start"),
	settings.Text(groupLosses, "scheduler", "learning rate over the cycles of a sample",
		"constant", "plateau").Live().Touches().Called("schedule", 'H').Press("H", settings.MoveNext, "learning rate's schedule").
		Listed(4, "the learning rate stays", "halves it when the loss stands still"),
	settings.Integer(groupLosses, "iterations", "", "iterations of a cycle (PRISM: n_epochs)", 1, maxCount).
		Live().Limit().Called("iterations", '[').
		Press("[", settings.MoveBefore, "halve iterations a cycle").Press("]", settings.MoveNext, "double them"),
	settings.Integer(groupLosses, "cycles", "", "cycles of a sample (PRISM: max_epochs)", 1, maxCount).
		Live().Limit().Called("cycles", 'O').Press("O", settings.MoveWrite, "cycles of a sample"),

	settings.Integer(groupInitial, "init_iterations", "", "iterations of a cycle; 0 skips the phase", 0, maxCount).Fixed(fixedInitial),
	settings.Integer(groupInitial, "init_cycles", "", "cycles; 0 skips the phase", 0, maxCount).Fixed(fixedInitial),

	settings.IterationLimit(groupLimits),
	settings.UnitLimit(groupLimits, "sample", "samples", ", counted over all passes"),
	settings.TimeLimit(groupLimits),

	settings.Text(groupComputing, "pattern", "trainer: measure the object once per sample; remeasure: every iteration", "trainer", "remeasure").
		Live().Touches("telescope").Called("pattern", 'p').
		Press("p", settings.MoveNext, "measuring pattern").Foremost(5).
		Listed(3, "measures the object once a sample", "measures it every iteration"),
	settings.Integer(groupComputing, "warmup_measurements", "", "measurements before the first sample, pattern remeasure only",
		0, maxCount).Fixed("it takes part in the preparation"),
	settings.Switch(groupComputing, "measurement_cache", "keep measurements of the object").Live().Touches("telescope").Revertible().Called("meas. cache", 'm').
		Press("m", settings.MoveNext, "measurement cache").Foremost(1).Compared(1, "false", "true").Everything().Factor("caches", "true").
		Idle(when("pattern", "trainer", "asked once per sample in the trainer pattern")),
	settings.Integer(groupComputing, "measurement_cache_mb", "MiB", "bound of the measurement cache", 1, 1<<20).
		Live().Touches("telescope").Called("meas. cache MiB", 'G').Press("G", settings.MoveWrite, "measurement cache's MiB"),
	settings.Integer(groupComputing, "clear_cache_every", "samples", "clear the measurement cache after every n samples; 0 never", 0, maxCount).
		Live().Touches("telescope").Called("clear meas. cache", '%').Press("%", settings.MoveWrite, "clear meas. cache every n"),
	settings.Switch(groupComputing, "fft_cache", "keep FFT plans and their twiddle factors").Live().Touches("telescope", "backward").Revertible().Called("FFT cache", 'f').
		Press("f", settings.MoveNext, "FFT cache").Foremost(3).Compared(2, "false", "true").Everything().Factor("caches", "true"),
	settings.Switch(groupComputing, "mask_cache", "keep aperture masks and coordinate grids").Live().Touches("telescope").Revertible().Called("mask cache", 'g').
		Press("g", settings.MoveNext, "mask cache").Foremost(4).Compared(3, "false", "true").Everything().Factor("caches", "true"),
	settings.Switch(groupComputing, "shared_spectrum", "one FFT of the output serves both measurements").
		Live().Touches("telescope", "loss", "backward").Revertible().Called("shared spectrum", 'S').Press("S", settings.MoveNext, "shared spectrum").Compared(4, "false", "true").Everything(),
	settings.Switch(groupComputing, "fused_telescope", "measure sixteen rows at a time, and compare and differentiate in the same step for l1 and l2 of one aperture").
		Live().Touches("telescope", "loss", "backward").Revertible().Called("fused telescope", 'F').Press("F", settings.MoveNext, "fused telescope").Compared(5, "false", "true").Everything().Factor("fused_telescope", "true"),
	settings.Switch(groupComputing, "pruned_fft", "the fused telescope leaves out the zeros around the object and outside the masks").
		Live().Touches("telescope", "loss", "backward").Revertible().Called("pruned FFT", 'e').Press("e", settings.MoveNext, "leave out zeros, pruned FFT").Compared(6, "false", "true").Everything().Factor("pruned_fft", "true").
		Idle(func(v settings.Values) string {
			if v.On("fused_telescope") {
				return ""
			}
			return "only the fused telescope prunes, and it is off"
		}),
	settings.Switch(groupComputing, "checkpointing", "recompute the decoder's activations in the backward pass instead of keeping them: less memory, more time").
		Live().Touches("forward", "backward").Revertible().Called("recompute", 'c').
		Press("c", settings.MoveNext, "recompute activations").Foremost(6).Compared(8, "false", "true"),
	settings.Switch(groupComputing, "fused_optimizer", "update convolutions' weights as their gradients are computed, which then take no memory; fp16 checks all gradients first and has none of it").
		Live().Touches("backward", "optimizer").Revertible().Called("fused optimizer", 'o').
		Press("o", settings.MoveNext, "fused optimizer").Foremost(7).Compared(7, "false", "true").Everything().
		Idle(when("amp", "fp16", "fp16 checks all gradients first")),
	settings.Text(groupComputing, "amp", "mixed precision; bf16x3 splits products and keeps float32's accuracy; tf32 needs a GPU", "off", "bf16", "bf16x3", "fp16", "tf32").
		Live().Revertible().Called("AMP", 'a').
		Press("a", settings.MoveToggle, "mixed precision: on, off").Foremost(2).
		Compared(9, "off", "bf16", "bf16x3", "fp16").Factor("amp", "bf16").
		Listed(1, "float32", "the range of float32", "nearly float32's accuracy", "with a gradient scaler", "10-bit products"),
	settings.Integer(groupComputing, "threads", "", "worker threads; 0 is one per core", 0, 1024).Live().Called("threads", '+').Press("-", settings.MoveBefore, "one thread fewer").Press("+", settings.MoveNext, "one thread more").Foremost(9),
	settings.Text(groupComputing, "kernels", "instruction set of the CPU's kernels; auto takes the fastest; avx512-bf16 and amx are avx512 with products of bf16 by AVX512_BF16 or by AMX", "auto", "avx512-bf16", "amx", "avx512", "avx2", "go").Fixed("the weights are laid out for it"),
	settings.Switch(groupComputing, "layer_profile", "show the layer that takes longest, beside what this machine can do at most").
		Live().Called("layer profile", 'y').Press("y", settings.MoveNext, "profile of the layers"),
	settings.Deciding(groupComputing),
	settings.Computing(groupComputing),
	settings.Integer(groupComputing, "seed", "", "seed of weights, noise and random sampling", 0, settings.MaxInteger).Fixed("the first weights and the noise came from it"),
	settings.Switch(groupComputing, "faithful", "keep PRISM's defects, which prismtop docs faithful lists").Fixed("it takes part in the preparation"),
).As(settings.Roles{
	Rate: "learning_rate", Precision: "amp", Unit: []string{"iterations", "cycles"}, Before: []string{"init_iterations", "init_cycles"},
	Shape:     []string{"size", "object_size"},
	Objective: []string{"loss", "normalize_loss", "composite_l1", "composite_l2", "composite_ssim"},
	Weights:   []string{"composite_l1", "composite_l2", "composite_ssim"}, WeightsName: "weights of L1, L2, SSIM", WeightsOf: "loss", WeightsIn: "composite",
})

// when returns a condition under which a setting has no effect: another setting
// has a certain value.
func when(key, value, why string) func(settings.Values) string {
	return func(v settings.Values) string {
		if v.Text(key) == value {
			return why
		}
		return ""
	}
}

// Bounds that keep arithmetic exact and counters within 32 bits.
const (
	maxSide  = 8192
	maxCount = math.MaxInt32
)

func powerOfTwo(value any) bool {
	n, _ := value.(int64)
	return n > 0 && n&(n-1) == 0
}
