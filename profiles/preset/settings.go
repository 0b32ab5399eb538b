// Package preset holds the settings of a run: what they are called, what they
// may be, where each value came from, and the named sets that ship with the
// program.
package preset

// Settings is every setting of a reconstruction. The zero value is not usable:
// start from a preset. Keys are the toml names; Keys() describes them.
type Settings struct {
	// The picture.
	Object string `toml:"object"` // built-in object: moon, usaf, star, points
	Image  string `toml:"image"`  // picture file; wins over Object when set
	Invert bool   `toml:"invert"` // invert the picture's intensities

	// The instrument.
	Size         int     `toml:"size"`          // N, side of the field in pixels, a power of two
	ObjectSize   int     `toml:"object_size"`   // S, side of the object's window in pixels
	Aperture     string  `toml:"aperture"`      // circular, hexagonal, obscured
	Radius       float64 `toml:"radius"`        // aperture radius (hexagon: side) in pixels
	InnerRadius  float64 `toml:"inner_radius"`  // obscured: radius of the central obstruction, pixels
	Spiders      int     `toml:"spiders"`       // obscured: number of spider vanes
	SpiderWidth  float64 `toml:"spider_width"`  // obscured: width of a vane, pixels
	Noise        string  `toml:"noise"`         // none, shot, poisson, readout, composite
	SNR          float64 `toml:"snr"`           // dB, for shot and poisson noise
	ReadoutSigma float64 `toml:"readout_sigma"` // standard deviation of readout noise, amplitude

	// The sampling of k-space.
	Sampling     string  `toml:"sampling"`      // fermat, random, star, rings, archimedes, grid, logarithmic
	Samples      int     `toml:"samples"`       // number of samples
	ROIDiameter  float64 `toml:"roi_diameter"`  // diameter of the sampled disc in pixels; 0 is Size
	SampleLength float64 `toml:"sample_length"` // length of a line sample in pixels; 0 is a point
	Passes       int     `toml:"passes"`        // times the whole pattern is trained, at least 1

	// The decoder.
	Latent           int    `toml:"latent"`            // channels of the latent vector; 0 is Size
	Channels         []int  `toml:"channels"`          // channel progression, ending in 1; empty is PRISM's
	BatchNorm        bool   `toml:"batch_norm"`        // batch normalisation
	OutputActivation string `toml:"output_activation"` // none, relu, leaky, sigmoid, hardsigmoid, scalesigmoid, tanh

	// The loss and its minimiser.
	Loss          string  `toml:"loss"`           // l1, l2, ssim, ms-ssim, composite
	CompositeL1   float64 `toml:"composite_l1"`   // weights of the composite loss, which sum to 1
	CompositeL2   float64 `toml:"composite_l2"`   //
	CompositeSSIM float64 `toml:"composite_ssim"` //
	NormalizeLoss bool    `toml:"normalize_loss"` // divide L1 and L2 by the target's mean
	Threshold     float64 `toml:"threshold"`      // both losses below it end a sample
	LearningRate  float64 `toml:"learning_rate"`  // Adam's step
	AMSGrad       bool    `toml:"amsgrad"`        // Adam's AMSGrad variant
	Scheduler     string  `toml:"scheduler"`      // constant, plateau
	Iterations    int     `toml:"iterations"`     // iterations of a cycle (PRISM: n_epochs)
	Cycles        int     `toml:"cycles"`         // cycles of a sample (PRISM: max_epochs)

	// The initialisation phase.
	InitIterations int `toml:"init_iterations"` // iterations of a cycle; 0 skips the phase
	InitCycles     int `toml:"init_cycles"`     // cycles

	// Limits of the run.
	MaxIterations int64   `toml:"max_iterations"` // 0 is no limit
	MaxSamples    int     `toml:"max_samples"`    // of all passes; 0 is all
	MaxSeconds    float64 `toml:"max_seconds"`    // 0 is no limit

	// How it is computed.
	Pattern            string `toml:"pattern"`             // trainer, remeasure
	WarmupMeasurements int    `toml:"warmup_measurements"` // measurements before the first sample (remeasure benchmark)
	MeasurementCache   bool   `toml:"measurement_cache"`
	MeasurementCacheMB int    `toml:"measurement_cache_mb"` // its bound in MiB
	FFTCache           bool   `toml:"fft_cache"`
	MaskCache          bool   `toml:"mask_cache"`
	SharedSpectrum     bool   `toml:"shared_spectrum"` // one FFT of the output serves both measurements
	FusedTelescope     bool   `toml:"fused_telescope"` // the telescope sixteen rows at a time, l1 and l2 in the same step
	PrunedFFT          bool   `toml:"pruned_fft"`      // the fused telescope leaves out zeros
	Checkpointing      bool   `toml:"checkpointing"`   // compute activations again instead of keeping them
	FusedOptimizer     bool   `toml:"fused_optimizer"` // Adam takes gradients as they are computed
	AMP                string `toml:"amp"`             // off, bf16, bf16x3, fp16
	Threads            int    `toml:"threads"`         // 0 is one per core
	Kernels            string `toml:"kernels"`         // auto, avx512, avx2, go
	LayerProfile       bool   `toml:"layer_profile"`   // publish the time of every layer
	Device             string `toml:"device"`          // auto, cpu, cuda
	Seed               uint64 `toml:"seed"`
	Faithful           bool   `toml:"faithful"` // keep PRISM's defects (docs/faithful.md)

	// thresholdLoss is the LossName that Threshold was given for; "" is whichever is in use.
	thresholdLoss string
}
