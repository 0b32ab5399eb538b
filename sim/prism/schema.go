package prism

import (
	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// The phases of an iteration, in the order of the schema.
const (
	PhaseForward   profiles.Phase = iota // decoder, forward
	PhaseTelescope                       // both measurements of the output, and of the object when needed
	PhaseLoss                            // both losses and the stop rule
	PhaseBackward                        // gradients of losses, telescope and decoder
	PhaseOptimizer                       // Adam
	PhaseMetrics                         // PSNR, SSIM, RMSE and the preview picture
)

// The kinds of iterations. The first sample has no old target, so it measures once
// instead of twice (spec/prism.md §3.3).
const (
	KindInitialisation profiles.Kind = iota // the decoder learns the initial disc
	KindFirstSample
	KindLaterSample
)

// The caches.
const (
	CacheMeasurement profiles.CacheID = iota // measurements of the object through one aperture
	CacheFFTPlans                            // twiddle factors per transform length
	CacheMasks                               // aperture masks and coordinate grids
)

// The series.
const (
	SeriesLossOld       = iota // on earlier measurements; NaN during the initialisation
	SeriesLossNew              // on the new measurement; in the image during the initialisation
	SeriesPSNR                 // dB, data range 1; +Inf when equal (spec/prism.md §6)
	SeriesSSIM                 // on the object's window, as SeriesRMSE
	SeriesRMSE                 // percent of the truth's root mean square
	SeriesCoverage             // share of k-space that the accumulated mask covers, 0 to 1
	SeriesLearningRate         // Adam's step
	SeriesGradientScale        // not measured unless fp16
)

// The categories of memory.
const (
	MemoryWeights = iota
	MemoryGradients
	MemoryMoments
	MemoryActivations
	MemoryInputs
	MemoryScratch
)

// The pictures, on the object's window.
const (
	PictureReconstruction = iota
	PictureTruth
)

const notCompared = "the reconstruction was not compared with the truth"

// Schema describes the records of a reconstruction.
func Schema() profiles.Schema {
	return profiles.Schema{
		Workload: "prism",
		Unit:     profiles.Unit{One: "sample", Many: "samples"},
		Stages:   []string{"initialising", "progressive"},
		Kinds: []profiles.KindInfo{
			KindInitialisation: {Name: "initialisation", Stage: 0},
			KindFirstSample:    {Name: "first sample", Stage: 1, Units: true},
			KindLaterSample:    {Name: "later samples", Stage: 1, Units: true},
		},
		Phases: []profiles.PhaseInfo{
			PhaseForward: {Name: "forward", What: "the decoder"},
			PhaseTelescope: {Name: "telescope", What: "measuring its output, and the object where the pattern asks; " +
				"masks and targets, prepared before the decoder runs, count here too"},
			PhaseLoss:      {Name: "loss", What: "both losses and the stop rule"},
			PhaseBackward:  {Name: "backward", What: "all gradients"},
			PhaseOptimizer: {Name: "optimizer", What: "Adam"},
			PhaseMetrics:   {Name: "metrics", What: "PSNR, SSIM, RMSE and the picture on screen", Looking: true},
		},
		Caches: caches(),
		Series: []profiles.SeriesInfo{
			SeriesLossOld: {Name: "loss_old", Title: "old",
				What: "the loss on everything measured before the present sample", Better: profiles.LessIsBetter,
				Scale: profiles.Logarithmic,
				Group: profiles.Losses, Each: true, Absent: "there is no old measurement in the initialisation, and " +
					"a sample's first iteration would compare the picture with itself"},
			SeriesLossNew: {Name: "loss_new", Title: "new",
				What:   "that on the measurement of the present one; while initialising, the only loss, against a disc",
				Better: profiles.LessIsBetter, Scale: profiles.Logarithmic,
				Group: profiles.Losses, Each: true},
			SeriesPSNR: {Name: "psnr_db", Title: "PSNR", Unit: "dB", Better: profiles.MoreIsBetter,
				Group: profiles.Metrics, Absent: notCompared, Infinite: "the reconstruction equals the truth"},
			SeriesSSIM: {Name: "ssim", Title: "SSIM", Unit: "0 to 1", Better: profiles.MoreIsBetter,
				Group: profiles.Metrics, Absent: notCompared},
			SeriesRMSE: {Name: "rmse_percent", Title: "RMSE", Unit: "% of the truth's RMS",
				Better: profiles.LessIsBetter,
				Group:  profiles.Metrics, Absent: notCompared},
			SeriesCoverage: {Name: "coverage", Title: "k-space seen", Better: profiles.MoreIsBetter, Fixed: true,
				Absent: "no sample was done in this start of the run"},
			SeriesLearningRate: {Name: "learning_rate", Title: "learning rate", Each: true, Internal: true},
			SeriesGradientScale: {Name: profiles.GradientScale, Title: "gradient scale", Each: true, Internal: true,
				Absent: "only fp16 scales gradients"},
		},
		Memory: []profiles.MemoryInfo{
			MemoryWeights: {Name: "weights", Parameters: true}, MemoryGradients: {Name: "gradients", Parameters: true},
			MemoryMoments: {Name: "moments", Parameters: true}, MemoryActivations: {Name: "activations"},
			MemoryInputs: {Name: "inputs"}, MemoryScratch: {Name: "scratch"},
		},
		Pictures: []profiles.PictureInfo{
			PictureReconstruction: {Name: "reconstruction", Live: true}, PictureTruth: {Name: "truth"},
		},
		Quality:   "psnr_db",
		Threshold: thresholdKey,
		// of phase5_implementation_summary.md
		Acceptance: profiles.Acceptance{Name: "PRISM's acceptance list", Criteria: []profiles.Criterion{
			{Name: "speed-up", Of: profiles.OfSpeedup, Limit: 3, Wanted: ">= 3x", Line: 320},
			{Name: "cache hit rate", Of: profiles.OfHits, Cache: "measurement", Limit: 0.8,
				Wanted: ">= 80 %", Line: 321, Met: "of measurements of the object", Missed: "measurements were lost " +
					"from the cache, or too few were repeated so far: see measurement_cache_mb"},
			{Name: "no quality regression", Of: profiles.OfQuality, Limit: 1,
				Wanted: "PSNR difference < 1 dB", Line: 322,
				Met: "the same reconstruction, to rounding, in every round"},
			{Name: "memory reasonable", Of: profiles.OfPeak, Limit: 2e9, Wanted: "peak memory < 2 GB on CPU", Line: 323},
			// The document says "consistent" and no number.
			{Name: "reproducible", Of: profiles.OfSpread, Limit: 0.1, Wanted: "2-3 runs, consistent", Line: 324},
		}},
		Tips: []profiles.AlertAdvice{
			{Alert: "not-finite", When: profiles.When{Setting: "amp", Value: "fp16"},
				Try: "Switch AMP off {switch amp} or to bf16 {choose amp}, whose range is that of fp32, and " +
					"restart {restart}."},
			{Alert: "not-finite", Try: "Halve the learning rate {lower learning_rate} and restart {restart}."},
			{Alert: "amp-overflow",
				Try: "Switch AMP to bf16 {choose amp}, which has the range of fp32 and needs no scale, or halve the " +
					"learning rate {lower learning_rate}."},
			{Alert: "sample-limit",
				Try: "Halve the learning rate {lower learning_rate} where the loss jumps about; else allow more " +
					"iterations {raise iterations} or raise the threshold {raise threshold}."},
		},
	}
}

// caches describes the caches, and how often they hit in which pattern (spec/prism.md §9.1).
func caches() []profiles.CacheInfo {
	return []profiles.CacheInfo{
		CacheMeasurement: {Name: "measurement", Title: "measurement", Long: "measurement cache",
			What:    "keeps what one aperture sees of the object",
			Setting: "measurement_cache", Limit: "measurement_cache_mb", Uses: []profiles.CacheUse{
				{When: profiles.When{Setting: "pattern", Value: "trainer"}, Once: true,
					Why:     "the trainer pattern measures the object once per sample, each through another aperture: nothing is asked twice",
					Brief:   "trainer pattern: each sample is measured once",
					Reason:  "every sample asks once, at a centre of its own",
					Instead: "the pattern to remeasure {switch pattern}",
					Hint:    "{switch pattern|pattern=remeasure} remeasures every iteration"},
				{Why: "the remeasure pattern measures the object through the sample's aperture at every iteration: " +
					"the first is a miss, the others hit"},
			}},
		CacheFFTPlans: {Name: "fft_plans", Title: "FFT", Long: "FFT cache",
			What: "keeps FFT plans: tables of twiddle factors per size", Setting: "fft_cache",
			Uses: []profiles.CacheUse{{
				Why: "a run transforms planes of one size or two: each misses once and hits ever after. Without it " +
					"the tables are computed at every transform",
				Seldom: "each size misses once, and few transforms were planned so far",
			}}},
		CacheMasks: {Name: "masks", Title: "mask", Long: "mask cache",
			What:    "keeps aperture masks and coordinate grids",
			Note:    "Of masks it is the drawing alone: the plan also takes a new mask over and looks for its bounds.",
			Setting: "mask_cache", Uses: []profiles.CacheUse{{
				Why: "the coordinates of the field and the masks of the present sample are asked for again and " +
					"again; a new sample misses once per aperture",
				Seldom: "each sample has masks of its own, which are drawn once and used for the whole sample by the " +
					"plan: most lookups are the first of their kind",
			}}},
	}
}

// Cautions returns the values of settings that have a limited effect, or a price, on a device
// with these kernels.
func Cautions(device, kernels string) []profiles.Caution {
	all := []profiles.Caution{
		{When: profiles.When{Setting: "fused_optimizer", Value: "true"},
			Under: profiles.When{Setting: "amp", Value: "fp16"},
			Text:  "not under fp16, which checks all gradients first"},
		{When: profiles.When{Setting: "object"}, Under: profiles.When{Setting: "image"},
			Text: "but the image wins while there is one"},
	}
	slower := func(mode, why string) {
		all = append(all, profiles.Caution{When: profiles.When{Setting: "amp", Value: mode}, Text: "slower: " + why})
	}
	if device == "cpu" && kernels != "amx" {
		if kernels != "avx512-bf16" {
			slower("bf16", "emulated by these kernels")
		}
		slower("bf16x3", "emulated without AMX")
	}
	if device == "cpu" {
		slower("fp16", "emulated on CPUs")
		for _, given := range []string{"auto", "cpu"} { // cuda, asked for the next run, has it
			all = append(all, profiles.Caution{When: profiles.When{Setting: "amp", Value: "tf32"},
				Under: profiles.When{Setting: settings.Device, Value: given},
				Text:  "not available on a CPU", Unavailable: true})
		}
	}
	if device == "cuda" && kernels == "sm_75" {
		slower("bf16", "without matrix instructions before compute capability 8.0")
		all = append(all, profiles.Caution{When: profiles.When{Setting: "amp", Value: "tf32"},
			Text: "computed as float32 before compute capability 8.0"})
	}
	return all
}
