package prism

import "prismtop/profiles"

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
	SeriesGradientScale        // 0 unless fp16
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
			PhaseForward: {Name: "forward"}, PhaseTelescope: {Name: "telescope"}, PhaseLoss: {Name: "loss"},
			PhaseBackward: {Name: "backward"}, PhaseOptimizer: {Name: "optimizer"}, PhaseMetrics: {Name: "metrics", Looking: true},
		},
		Caches: []profiles.CacheInfo{
			CacheMeasurement: {Name: "measurement", Title: "measurement", Long: "measurement cache", Setting: "measurement_cache"},
			CacheFFTPlans:    {Name: "fft_plans", Title: "FFT plans", Long: "FFT plan cache", Setting: "fft_cache"},
			CacheMasks:       {Name: "masks", Title: "masks/grids", Long: "mask cache", Setting: "mask_cache"},
		},
		Series: []profiles.SeriesInfo{
			SeriesLossOld: {Name: "loss_old", Title: "old", Better: profiles.LessIsBetter, Scale: profiles.Logarithmic,
				Group: profiles.Losses, Each: true, Absent: "the initialisation has no old measurement"},
			SeriesLossNew: {Name: "loss_new", Title: "new", Better: profiles.LessIsBetter, Scale: profiles.Logarithmic,
				Group: profiles.Losses, Each: true},
			SeriesPSNR: {Name: "psnr_db", Title: "PSNR", Unit: "dB", Better: profiles.MoreIsBetter,
				Group: profiles.Metrics, Absent: notCompared, Infinite: "the reconstruction equals the truth"},
			SeriesSSIM: {Name: "ssim", Title: "SSIM", Unit: "0 to 1", Better: profiles.MoreIsBetter,
				Group: profiles.Metrics, Absent: notCompared},
			SeriesRMSE: {Name: "rmse_percent", Title: "RMSE", Unit: "% of the truth's RMS", Better: profiles.LessIsBetter,
				Group: profiles.Metrics, Absent: notCompared},
			SeriesCoverage:      {Name: "coverage", Title: "k-space seen", Better: profiles.MoreIsBetter, Absent: "no sample was done"},
			SeriesLearningRate:  {Name: "learning_rate", Title: "learning rate", Each: true, Internal: true},
			SeriesGradientScale: {Name: profiles.GradientScale, Title: "gradient scale", Each: true, Internal: true},
		},
		Memory: []profiles.MemoryInfo{
			MemoryWeights: {Name: "weights", Parameters: true}, MemoryGradients: {Name: "gradients", Parameters: true},
			MemoryMoments: {Name: "moments", Parameters: true}, MemoryActivations: {Name: "activations"},
			MemoryInputs: {Name: "inputs"}, MemoryScratch: {Name: "scratch"},
		},
		Pictures: []profiles.PictureInfo{
			PictureReconstruction: {Name: "reconstruction", Live: true}, PictureTruth: {Name: "truth"},
		},
		Quality: "psnr_db",
	}
}
