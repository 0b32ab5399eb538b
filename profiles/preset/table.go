package preset

import "math"

// The groups, in the order of Settings.
const (
	picture    = "The picture"
	instrument = "The instrument"
	sampling   = "The sampling of k-space"
	decoder    = "The decoder"
	losses     = "The loss and its minimiser"
	initial    = "The initialisation phase"
	limits     = "Limits of the run"
	computing  = "How it is computed"
)

// table is the one place that says what each field of Settings is called,
// means and may be. It is never written after the program has started.
var table = []entry{
	text(picture, "object", "built-in object, drawn by the program", func(s *Settings) *string { return &s.Object },
		"moon", "usaf", "star", "points"),
	text(picture, "image", "picture file; wins over object when set", func(s *Settings) *string { return &s.Image }),
	toggle(picture, "invert", "invert the picture's intensities", func(s *Settings) *bool { return &s.Invert }),

	integer(instrument, "size", "pixels", "side of the field", 16, maxSide, func(s *Settings) *int { return &s.Size }).
		rule("a power of two", func(s *Settings) bool { return powerOfTwo(s.Size) }),
	integer(instrument, "object_size", "pixels", "side of the object's window, at most size", 8, maxSide,
		func(s *Settings) *int { return &s.ObjectSize }),
	text(instrument, "aperture", "shape of an aperture", func(s *Settings) *string { return &s.Aperture },
		"circular", "hexagonal", "obscured"),
	number(instrument, "radius", "pixels", "radius of an aperture (hexagon: side), at most size/2", 0, maxSide/2,
		func(s *Settings) *float64 { return &s.Radius }).above(),
	number(instrument, "inner_radius", "pixels", "obscured aperture: radius of the central obstruction", 0, maxSide/2,
		func(s *Settings) *float64 { return &s.InnerRadius }),
	integer(instrument, "spiders", "", "obscured aperture: number of spider vanes", 0, 64,
		func(s *Settings) *int { return &s.Spiders }),
	number(instrument, "spider_width", "pixels", "obscured aperture: width of a vane; 0 is no vanes", 0, maxSide/2,
		func(s *Settings) *float64 { return &s.SpiderWidth }),
	text(instrument, "noise", "noise of a measurement", func(s *Settings) *string { return &s.Noise },
		"none", "shot", "poisson", "readout", "composite"),
	number(instrument, "snr", "dB", "signal-to-noise ratio of shot and poisson noise", 0, 200,
		func(s *Settings) *float64 { return &s.SNR }),
	number(instrument, "readout_sigma", "amplitude", "standard deviation of readout noise", 0, 1,
		func(s *Settings) *float64 { return &s.ReadoutSigma }),

	text(sampling, "sampling", "order and places of the samples", func(s *Settings) *string { return &s.Sampling },
		"fermat", "random", "star", "rings", "archimedes", "grid", "logarithmic"),
	integer(sampling, "samples", "", "number of samples", 1, maxCount, func(s *Settings) *int { return &s.Samples }),
	number(sampling, "roi_diameter", "pixels", "diameter of the sampled disc, at most size; 0 is size", 0, maxSide,
		func(s *Settings) *float64 { return &s.ROIDiameter }),
	number(sampling, "sample_length", "pixels", "length of a line sample; 0 is a point", 0, maxSide,
		func(s *Settings) *float64 { return &s.SampleLength }),
	integer(sampling, "passes", "", "times the whole pattern is trained; PRISM trains it once", 1, maxCount,
		func(s *Settings) *int { return &s.Passes }),

	integer(decoder, "latent", "channels", "channels of the latent vector; 0 is size", 0, 4*maxSide,
		func(s *Settings) *int { return &s.Latent }),
	{
		Key: Key{Group: decoder, Name: "channels", Unit: "channels", Type: List, Min: 1, Max: 4 * maxSide,
			Help: "channel progression, two or more numbers that end in 1; empty is PRISM's"},
		field: func(s *Settings) any { return &s.Channels },
	},
	toggle(decoder, "batch_norm", "batch normalisation", func(s *Settings) *bool { return &s.BatchNorm }),
	text(decoder, "output_activation", "activation of the decoder's output",
		func(s *Settings) *string { return &s.OutputActivation },
		"none", "relu", "leaky", "sigmoid", "hardsigmoid", "scalesigmoid", "tanh"),

	text(losses, "loss", "distance between prediction and target", func(s *Settings) *string { return &s.Loss },
		"l1", "l2", "ssim", "ms-ssim", "composite").live().called("loss", 'k').
		tune(1, "k", MoveNext, "next loss").tune(2, "K", MoveBefore, "loss before").
		listed(2, "mean absolute difference", "mean squared difference", "1 less structural similarity",
			"the same over five scales", "L1, L2 and SSIM by their weights (W Y V)"),
	number(losses, "composite_l1", "", "weight of L1 in the composite loss; the three sum to 1", 0, 1,
		func(s *Settings) *float64 { return &s.CompositeL1 }).live().called("weight of L1", 'W').tune(4, "W", MoveWrite, "weight of L1"),
	number(losses, "composite_l2", "", "weight of L2 in the composite loss", 0, 1,
		func(s *Settings) *float64 { return &s.CompositeL2 }).live().called("weight of L2", 'Y').tune(5, "Y", MoveWrite, "weight of L2"),
	number(losses, "composite_ssim", "", "weight of SSIM in the composite loss", 0, 1,
		func(s *Settings) *float64 { return &s.CompositeSSIM }).live().called("weight of SSIM", 'V').tune(6, "V", MoveWrite, "weight of SSIM"),
	toggle(losses, "normalize_loss", "divide L1 and L2 by the target's mean",
		func(s *Settings) *bool { return &s.NormalizeLoss }).live().called("normalised loss", 'N').tune(3, "N", MoveNext, "normalised loss"),
	number(losses, "threshold", "", "a sample ends when both losses are below it; 0 never", 0, math.Inf(1),
		func(s *Settings) *float64 { return &s.Threshold }).live().limit().called("threshold", 'T').
		tune(7, "t", MoveBefore, "halve the threshold").tune(8, "T", MoveNext, "double the threshold"),
	number(losses, "learning_rate", "", "Adam's step", 0, 10,
		func(s *Settings) *float64 { return &s.LearningRate }).above().live().called("lr", 'l').press(
		Press{Key: "l", Help: "halve learning rate", Does: MoveBefore, Place: 8}, Press{Key: "L", Help: "double learning rate", Does: MoveNext, Place: 9}),
	toggle(losses, "amsgrad", "Adam's AMSGrad variant", func(s *Settings) *bool { return &s.AMSGrad }),
	text(losses, "scheduler", "learning rate over the cycles of a sample", func(s *Settings) *string { return &s.Scheduler },
		"constant", "plateau").live().called("schedule", 'H').tune(9, "H", MoveNext, "learning rate's schedule").
		listed(4, "the learning rate stays", "halves it when the loss stands still"),
	integer(losses, "iterations", "", "iterations of a cycle (PRISM: n_epochs)", 1, maxCount,
		func(s *Settings) *int { return &s.Iterations }).live().limit().called("iterations", '[').
		tune(10, "[", MoveBefore, "halve iterations a cycle").tune(11, "]", MoveNext, "double them"),
	integer(losses, "cycles", "", "cycles of a sample (PRISM: max_epochs)", 1, maxCount,
		func(s *Settings) *int { return &s.Cycles }).live().limit().called("cycles", 'O').tune(12, "O", MoveWrite, "cycles of a sample"),

	integer(initial, "init_iterations", "", "iterations of a cycle; 0 skips the phase", 0, maxCount,
		func(s *Settings) *int { return &s.InitIterations }),
	integer(initial, "init_cycles", "", "cycles; 0 skips the phase", 0, maxCount,
		func(s *Settings) *int { return &s.InitCycles }),

	integer(limits, "max_iterations", "", "end the run after so many; 0 is no limit", 0, 1<<53,
		func(s *Settings) *int64 { return &s.MaxIterations }).live().limit().called("most iterations", 'Z').tune(15, "Z", MoveWrite, "limit of iterations"),
	integer(limits, "max_samples", "", "end the run after this many samples, counted over all passes; 0 is all", 0, maxCount,
		func(s *Settings) *int { return &s.MaxSamples }).live().limit().called("last sample", 'j').
		tune(13, "j", MoveBefore, "one sample less to do").tune(14, "J", MoveNext, "one sample more"),
	number(limits, "max_seconds", "seconds", "end the run after so long; 0 is no limit", 0, 1e9,
		func(s *Settings) *float64 { return &s.MaxSeconds }).live().limit().called("most seconds", 'X').tune(16, "X", MoveWrite, "limit of seconds"),

	text(computing, "pattern", "trainer: measure the object once per sample; remeasure: every iteration",
		func(s *Settings) *string { return &s.Pattern }, "trainer", "remeasure").live().called("pattern", 'p').
		press(Press{Key: "p", Help: "measuring pattern", Does: MoveNext, Place: 5, InFooter: true, Rank: 4, Width: 9}).
		listed(3, "measures the object once a sample", "measures it every iteration"),
	integer(computing, "warmup_measurements", "", "measurements before the first sample, pattern remeasure only",
		0, maxCount, func(s *Settings) *int { return &s.WarmupMeasurements }),
	toggle(computing, "measurement_cache", "keep measurements of the object",
		func(s *Settings) *bool { return &s.MeasurementCache }).live().called("meas. cache", 'm').
		press(Press{Key: "m", Help: "measurement cache", Does: MoveNext, Place: 1, InFooter: true, Footer: "meas. cache", Rank: 1}).compared(1, "false", "true"),
	integer(computing, "measurement_cache_mb", "MiB", "bound of the measurement cache", 1, 1<<20,
		func(s *Settings) *int { return &s.MeasurementCacheMB }).live().called("meas. cache MiB", 'G').tune(17, "G", MoveWrite, "measurement cache's MiB"),
	toggle(computing, "fft_cache", "keep FFT plans and their twiddle factors",
		func(s *Settings) *bool { return &s.FFTCache }).live().called("FFT plans", 'f').
		press(Press{Key: "f", Help: "FFT plan cache", Does: MoveNext, Place: 2, InFooter: true, Footer: "FFT", Rank: 2}).compared(2, "false", "true"),
	toggle(computing, "mask_cache", "keep aperture masks and coordinate grids",
		func(s *Settings) *bool { return &s.MaskCache }).live().called("masks", 'g').
		press(Press{Key: "g", Help: "mask and grid cache", Does: MoveNext, Place: 3, InFooter: true, Footer: "masks", Rank: 3}).compared(3, "false", "true"),
	toggle(computing, "shared_spectrum", "one FFT of the output serves both measurements",
		func(s *Settings) *bool { return &s.SharedSpectrum }).live().called("shared spectrum", 'S').tune(18, "S", MoveNext, "shared spectrum").compared(4, "false", "true"),
	toggle(computing, "fused_telescope", "measure sixteen rows at a time, and compare and differentiate in the same step for l1 and l2 of one aperture",
		func(s *Settings) *bool { return &s.FusedTelescope }).live().called("fused telescope", 'F').tune(19, "F", MoveNext, "fused telescope").compared(5, "false", "true"),
	toggle(computing, "pruned_fft", "the fused telescope leaves out the zeros around the object and outside the masks",
		func(s *Settings) *bool { return &s.PrunedFFT }).live().called("pruned FFT", 'e').tune(20, "e", MoveNext, "leave out zeros, pruned FFT").compared(6, "false", "true"),
	toggle(computing, "checkpointing", "compute the decoder's activations again for the backward pass instead of keeping them: less memory, more time",
		func(s *Settings) *bool { return &s.Checkpointing }).live().called("checkpoints", 'c').
		press(Press{Key: "c", Help: "checkpointing", Does: MoveNext, Place: 6, InFooter: true, Footer: "checkpoints", Rank: 7}).compared(8, "false", "true"),
	toggle(computing, "fused_optimizer", "update convolutions' weights as their gradients are computed, which then take no memory; fp16 checks all gradients first and has none of it",
		func(s *Settings) *bool { return &s.FusedOptimizer }).live().called("fused Adam", 'o').
		press(Press{Key: "o", Help: "fused optimizer", Does: MoveNext, Place: 7, InFooter: true, Footer: "fused", Rank: 8}).compared(7, "false", "true"),
	text(computing, "amp", "mixed precision; bf16x3 splits products and keeps float32's accuracy",
		func(s *Settings) *string { return &s.AMP }, "off", "bf16", "bf16x3", "fp16").live().called("AMP", 'a').
		press(Press{Key: "a", Help: "mixed precision: on, off", Does: MoveToggle, Place: 4, InFooter: true, Footer: "AMP", Rank: 0, Width: 6}).
		compared(9, "off", "bf16", "bf16x3", "fp16").
		listed(1, "float32", "the range of float32", "nearly float32's accuracy", "with a gradient scaler"),
	integer(computing, "threads", "", "worker threads; 0 is one per core", 0, 1024,
		func(s *Settings) *int { return &s.Threads }).live().called("threads", '+').press(
		Press{Key: "-", Also: []string{"_"}, Help: "one thread less", Does: MoveBefore, Place: 11}, Press{Key: "+", Also: []string{"="}, Help: "one thread more", Does: MoveNext, Place: 10}),
	text(computing, "kernels", "instruction set of the CPU's kernels; auto is the fastest of avx512, avx2 and go; amx is avx512 with products of bf16 by AMX",
		func(s *Settings) *string { return &s.Kernels }, "auto", "amx", "avx512", "avx2", "go"),
	toggle(computing, "layer_profile", "show the layer that takes longest, beside what this machine can do at most",
		func(s *Settings) *bool { return &s.LayerProfile }).live().called("layer profile", 'y').tune(21, "y", MoveNext, "profile of the layers"),
	text(computing, "device", "where it is computed", func(s *Settings) *string { return &s.Device },
		"auto", "cpu", "cuda").called("device", 'D'),
	integer(computing, "seed", "", "seed of weights, noise and random sampling", 0, maxSeed,
		func(s *Settings) *uint64 { return &s.Seed }),
	toggle(computing, "faithful", "keep PRISM's defects, which docs/faithful.md lists",
		func(s *Settings) *bool { return &s.Faithful }),
}
