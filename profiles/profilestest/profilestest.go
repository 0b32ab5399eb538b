// Package profilestest has the schema and the records shared by tests of the packages
// below profiles.
package profilestest

import "prismtop/profiles"

// The entries of the test schema, like those of a reconstruction.
const (
	PhaseForward profiles.Phase = iota
	PhaseTelescope
	PhaseLoss
	PhaseBackward
	PhaseOptimizer
	PhaseMetrics
)

const (
	KindInitialisation profiles.Kind = iota
	KindFirstSample
	KindLaterSample
)

const (
	CacheMeasurement profiles.CacheID = iota
	CacheFFTPlans
	CacheMasks
	NumCaches
)

const (
	SeriesLossOld = iota
	SeriesLossNew
	SeriesPSNR
	SeriesSSIM
	SeriesRMSE
	SeriesCoverage
	SeriesLearningRate
	SeriesGradientScale
)

const (
	MemoryWeights = iota
	MemoryGradients
	MemoryMoments
	MemoryActivations
	MemoryInputs
	MemoryScratch
)

const (
	PictureReconstruction = iota
	PictureTruth
)

// Schema returns the schema of a reconstruction.
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
			SeriesLossOld:       {Name: "loss_old", Title: "old", Better: profiles.LessIsBetter, Scale: profiles.Logarithmic, Group: profiles.Losses, Each: true},
			SeriesLossNew:       {Name: "loss_new", Title: "new", Better: profiles.LessIsBetter, Scale: profiles.Logarithmic, Group: profiles.Losses, Each: true},
			SeriesPSNR:          {Name: "psnr_db", Title: "PSNR", Unit: "dB", Better: profiles.MoreIsBetter, Group: profiles.Metrics},
			SeriesSSIM:          {Name: "ssim", Title: "SSIM", Unit: "0 to 1", Better: profiles.MoreIsBetter, Group: profiles.Metrics},
			SeriesRMSE:          {Name: "rmse_percent", Title: "RMSE", Better: profiles.LessIsBetter, Group: profiles.Metrics},
			SeriesCoverage:      {Name: "coverage", Title: "k-space seen", Better: profiles.MoreIsBetter},
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

// Info returns the description of a run with the given number of samples.
func Info(samples int) profiles.RunInfo {
	return profiles.RunInfo{Schema: Schema(), Object: "moon", Units: samples, GPUReason: "no CUDA device"}
}

// Progressive returns the record of an iteration of the second sample; its index counts
// from 0.
func Progressive() profiles.Iteration {
	it := profiles.Iteration{Kind: KindLaterSample, Unit: 1}
	it.Series[SeriesLossOld], it.Series[SeriesLossNew] = 0.5, 0.25
	return it
}

// Compared returns a comparison with the truth at an iteration.
func Compared(iteration int64, psnr float64) profiles.Measurement {
	m := profiles.Measurement{Iteration: iteration, Values: profiles.NoValues()}
	m.Values[SeriesPSNR] = psnr
	return m
}

// ComparedAll is Compared with SSIM and RMSE.
func ComparedAll(iteration int64, psnr, ssim, rmse float64) profiles.Measurement {
	m := Compared(iteration, psnr)
	m.Values[SeriesSSIM], m.Values[SeriesRMSE] = ssim, rmse
	return m
}
