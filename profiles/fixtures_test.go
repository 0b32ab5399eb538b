package profiles

// The entries of the test's schema, as those of a reconstruction's.
const (
	phaseForward Phase = iota
	phaseTelescope
	phaseLoss
	phaseBackward
	phaseOptimizer
	phaseMetrics
)

const (
	kindInitialisation Kind = iota
	kindFirstSample
	kindLaterSample
)

const (
	cacheMeasurement CacheID = iota
	cacheFFTPlans
	cacheMasks
	numCaches
)

const (
	seriesLossOld = iota
	seriesLossNew
	seriesPSNR
	seriesSSIM
	seriesRMSE
	seriesCoverage
	seriesLearningRate
	seriesGradientScale
)

const (
	memoryWeights = iota
	memoryGradients
	memoryMoments
	memoryActivations
	memoryInputs
	memoryScratch
)

const (
	pictureReconstruction = iota
	pictureTruth
)

// testSchema is that of a reconstruction.
func testSchema() Schema {
	return Schema{
		Workload: "prism",
		Unit:     Unit{One: "sample", Many: "samples"},
		Stages:   []string{"initialising", "progressive"},
		Kinds: []KindInfo{
			kindInitialisation: {Name: "initialisation", Stage: 0},
			kindFirstSample:    {Name: "first sample", Stage: 1, Units: true},
			kindLaterSample:    {Name: "later samples", Stage: 1, Units: true},
		},
		Phases: []PhaseInfo{
			phaseForward: {Name: "forward"}, phaseTelescope: {Name: "telescope"}, phaseLoss: {Name: "loss"},
			phaseBackward: {Name: "backward"}, phaseOptimizer: {Name: "optimizer"}, phaseMetrics: {Name: "metrics", Looking: true},
		},
		Caches: []CacheInfo{
			cacheMeasurement: {Name: "measurement", Title: "measurement", Long: "measurement cache", Setting: "measurement_cache"},
			cacheFFTPlans:    {Name: "fft_plans", Title: "FFT plans", Long: "FFT plan cache", Setting: "fft_cache"},
			cacheMasks:       {Name: "masks", Title: "masks/grids", Long: "mask cache", Setting: "mask_cache"},
		},
		Series: []SeriesInfo{
			seriesLossOld:       {Name: "loss_old", Title: "old", Better: LessIsBetter, Scale: Logarithmic, Group: Losses, Each: true},
			seriesLossNew:       {Name: "loss_new", Title: "new", Better: LessIsBetter, Scale: Logarithmic, Group: Losses, Each: true},
			seriesPSNR:          {Name: "psnr_db", Title: "PSNR", Unit: "dB", Better: MoreIsBetter, Group: Metrics},
			seriesSSIM:          {Name: "ssim", Title: "SSIM", Unit: "0 to 1", Better: MoreIsBetter, Group: Metrics},
			seriesRMSE:          {Name: "rmse_percent", Title: "RMSE", Better: LessIsBetter, Group: Metrics},
			seriesCoverage:      {Name: "coverage", Title: "k-space seen", Better: MoreIsBetter},
			seriesLearningRate:  {Name: "learning_rate", Title: "learning rate", Each: true, Internal: true},
			seriesGradientScale: {Name: GradientScale, Title: "gradient scale", Each: true, Internal: true},
		},
		Memory: []MemoryInfo{
			memoryWeights: {Name: "weights", Parameters: true}, memoryGradients: {Name: "gradients", Parameters: true},
			memoryMoments: {Name: "moments", Parameters: true}, memoryActivations: {Name: "activations"},
			memoryInputs: {Name: "inputs"}, memoryScratch: {Name: "scratch"},
		},
		Pictures: []PictureInfo{
			pictureReconstruction: {Name: "reconstruction", Live: true}, pictureTruth: {Name: "truth"},
		},
		Quality: "psnr_db",
	}
}

// info is what a run of so many samples begins with.
func info(samples int) RunInfo {
	return RunInfo{Schema: testSchema(), Object: "moon", Units: samples, GPUReason: "no CUDA device"}
}

// progressive is the record of an iteration of the second sample; its index counts from 0.
func progressive() Iteration {
	it := Iteration{Kind: kindLaterSample, Unit: 1}
	it.Series[seriesLossOld], it.Series[seriesLossNew] = 0.5, 0.25
	return it
}

// compared is a comparison with the truth at an iteration.
func compared(iteration int64, psnr float64) Measurement {
	m := Measurement{Iteration: iteration, Values: NoValues()}
	m.Values[seriesPSNR] = psnr
	return m
}

// comparedAll is compared with SSIM and RMSE.
func comparedAll(iteration int64, psnr, ssim, rmse float64) Measurement {
	m := compared(iteration, psnr)
	m.Values[seriesSSIM], m.Values[seriesRMSE] = ssim, rmse
	return m
}
