package prism

import (
	"embed"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
)

// Settings is every setting of a reconstruction, for the engine to read. The zero value is
// not usable: start from a preset. The tags are the keys of Table, which describes them.
type Settings struct {
	// The picture.
	Object   string `setting:"object"`   // built-in object: moon, usaf, star, points
	Image    string `setting:"image"`    // picture file; wins over Object when set
	Invert   bool   `setting:"invert"`   // invert the picture's intensities
	Measured string `setting:"measured"` // file of measurements; stands for the object and the telescope

	// The instrument.
	Size         int     `setting:"size"`          // N, side of the field in pixels, a power of two
	ObjectSize   int     `setting:"object_size"`   // S, side of the object's window in pixels
	Aperture     string  `setting:"aperture"`      // circular, hexagonal, obscured
	Radius       float64 `setting:"radius"`        // aperture radius (hexagon: side) in pixels
	InnerRadius  float64 `setting:"inner_radius"`  // obscured: radius of the central obstruction, pixels
	Spiders      int     `setting:"spiders"`       // obscured: number of spider vanes
	SpiderWidth  float64 `setting:"spider_width"`  // obscured: width of a vane, pixels
	Noise        string  `setting:"noise"`         // none, shot, poisson, readout, composite
	SNR          float64 `setting:"snr"`           // dB, for shot and poisson noise
	ReadoutSigma float64 `setting:"readout_sigma"` // standard deviation of readout noise, amplitude

	// The sampling of k-space.
	Sampling     string  `setting:"sampling"`      // fermat, random, star, rings, archimedes, grid, logarithmic
	Samples      int     `setting:"samples"`       // number of samples
	ROIDiameter  float64 `setting:"roi_diameter"`  // diameter of the sampled disc in pixels; 0 is Size
	SampleLength float64 `setting:"sample_length"` // length of a line sample in pixels; 0 is a point
	Passes       int     `setting:"passes"`        // times the whole pattern is trained, at least 1

	// The decoder.
	Latent           int    `setting:"latent"`            // channels of the latent vector; 0 is Size
	Channels         []int  `setting:"channels"`          // channel progression, ending in 1; empty is PRISM's
	BatchNorm        bool   `setting:"batch_norm"`        // batch normalisation
	OutputActivation string `setting:"output_activation"` // none, relu, leaky, sigmoid, hardsigmoid, scalesigmoid, tanh

	// The loss and its minimiser.
	Loss          string  `setting:"loss"`           // l1, l2, ssim, ms-ssim, composite
	CompositeL1   float64 `setting:"composite_l1"`   // weights of the composite loss, which sum to 1
	CompositeL2   float64 `setting:"composite_l2"`   //
	CompositeSSIM float64 `setting:"composite_ssim"` //
	NormalizeLoss bool    `setting:"normalize_loss"` // divide L1 and L2 by the target's mean
	Threshold     float64 `setting:"threshold"`      // a sample ends when both losses are below it
	LearningRate  float64 `setting:"learning_rate"`  // Adam's step
	AMSGrad       bool    `setting:"amsgrad"`        // Adam's AMSGrad variant
	Scheduler     string  `setting:"scheduler"`      // constant, plateau
	Iterations    int     `setting:"iterations"`     // iterations of a cycle (PRISM: n_epochs)
	Cycles        int     `setting:"cycles"`         // cycles of a sample (PRISM: max_epochs)

	// The initialisation phase.
	InitIterations int `setting:"init_iterations"` // iterations of a cycle; 0 skips the phase
	InitCycles     int `setting:"init_cycles"`     // cycles

	// Limits of the run.
	MaxIterations int64   `setting:"max_iterations"` // 0 is no limit
	MaxSamples    int     `setting:"max_samples"`    // of all passes; 0 is all
	MaxSeconds    float64 `setting:"max_seconds"`    // 0 is no limit

	// How it is computed.
	Pattern            string `setting:"pattern"`             // trainer, remeasure
	WarmupMeasurements int    `setting:"warmup_measurements"` // measurements before the first sample (remeasure benchmark)
	MeasurementCache   bool   `setting:"measurement_cache"`
	MeasurementCacheMB int    `setting:"measurement_cache_mb"` // its bound in MiB
	ClearCacheEvery    int    `setting:"clear_cache_every"`    // samples after which it is cleared, again and again; 0 never
	FFTCache           bool   `setting:"fft_cache"`
	MaskCache          bool   `setting:"mask_cache"`
	SharedSpectrum     bool   `setting:"shared_spectrum"` // one FFT of the output serves both measurements
	FusedTelescope     bool   `setting:"fused_telescope"` // the telescope sixteen rows at a time, l1 and l2 in the same step
	PrunedFFT          bool   `setting:"pruned_fft"`      // the fused telescope leaves out zeros
	Checkpointing      bool   `setting:"checkpointing"`   // compute activations again instead of keeping them
	FusedOptimizer     bool   `setting:"fused_optimizer"` // Adam takes gradients as they are computed
	AMP                string `setting:"amp"`             // off, bf16, bf16x3, fp16
	Threads            int    `setting:"threads"`         // 0 means one per core
	Kernels            string `setting:"kernels"`         // auto, avx512-bf16, amx, avx512, avx2, go
	LayerProfile       bool   `setting:"layer_profile"`   // publish the time of every layer
	Decide             string `setting:"decide"`          // auto, ask, off: what follows a press of a key
	Device             string `setting:"device"`          // auto, cpu, cuda
	Seed               uint64 `setting:"seed"`
	Faithful           bool   `setting:"faithful"` // keep PRISM's defects (docs/faithful.md)

	suspended bool // Threshold was given for a loss other than the one in use
}

//go:embed presets/*.toml
var embedded embed.FS

// Presets returns the named sets of settings that ship with the program.
func Presets() preset.Shelf { return preset.Embedded(Table, embedded, "moon") }

// From reads the values of Table.
func From(v settings.Values) Settings {
	var s Settings
	v.Decode(&s)
	_, _, s.suspended = v.Suspended(thresholdKey)
	return s
}

// Values returns the settings in the form used by a run and its records.
func (s *Settings) Values() settings.Values { return Table.Encode(s) }

// Validate checks the settings: see settings.Values.
func (s *Settings) Validate() error { return s.Values().Validate() }
