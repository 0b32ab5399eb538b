package inference

import "prismtop/profiles"

// The phases of an iteration, in the order of the pipeline (spec/ptycho-cyto.md §A2).
const (
	phaseLoad profiles.Phase = iota
	phaseGroup
	phaseNormalise
	phasePredict
	phaseReassemble
	phaseMetrics
)

// The series.
const (
	seriesThroughput = iota // images a second of the iteration
	seriesEfficiency        // images a second for each MB of the memory that it needs
	seriesPSNR              // of the amplitude, dB
	seriesRMSE              // of the amplitude, percent of the truth's RMS
	seriesPhaseError        // root mean square difference of the phases, radians
	seriesDifference        // largest difference from the first result of the same group
)

// The categories of memory.
const (
	memoryWeights = iota
	memoryActivations
	memoryInputs
	memoryScratch
	memoryScan
	memoryResults
	memoryPlans
)

// The pictures.
const (
	pictureReconstruction = iota
	picturePhase          // as picturePhaseTruth in radians above −π, 0 where no patch lies
	pictureDiffraction
	pictureTruth
	picturePhaseTruth
)

const notCompared = "no pass is complete"

// Schema describes the records of an inference.
func Schema() profiles.Schema {
	return profiles.Schema{
		Workload: Table.Workload,
		Unit:     profiles.Unit{One: "pass", Many: "passes"}, Item: profiles.Unit{One: "image", Many: "images"},
		Stages: []string{"inference"}, Kinds: []profiles.KindInfo{{Name: "batches", Units: true}},
		Phases: []profiles.PhaseInfo{
			phaseLoad: {Name: "load", Colour: 7,
				What: "gathering the patterns of the batch's groups, which are drawn at the start"},
			phaseGroup: {Name: "group", Colour: 2,
				What: "the distances of their positions from the centres of their groups"},
			phaseNormalise: {Name: "normalise", Colour: 3, What: "scaling their amplitudes"},
			phasePredict:   {Name: "predict", Colour: 1, What: "the network"},
			phaseReassemble: {Name: "reassemble", Colour: 5,
				What: "adding the centres of the objects to the canvas, and comparing them with their first results"},
			phaseMetrics: {Name: "metrics", Colour: 6,
				What: "comparing the canvas with the truth, and the pictures on screen", Looking: true},
		},
		Series: []profiles.SeriesInfo{
			seriesThroughput: {Name: "images_per_s", Title: "throughput", Unit: "images/s",
				Better: profiles.MoreIsBetter, Group: profiles.Metrics, Each: true},
			seriesEfficiency: {Name: "images_per_s_mb", Title: "efficiency", Unit: "images/s/MB",
				Better: profiles.MoreIsBetter, Each: true},
			seriesPSNR: {Name: "psnr_db", Title: "PSNR", Unit: "dB", Better: profiles.MoreIsBetter,
				Group: profiles.Metrics, Absent: notCompared, Infinite: "the reconstruction equals the truth"},
			seriesRMSE: {Name: "rmse_percent", Title: "RMSE", Unit: "% of the truth's RMS",
				Better: profiles.LessIsBetter, Group: profiles.Metrics, Absent: notCompared},
			seriesPhaseError: {Name: "phase_error_rad", Title: "phase error", Unit: "rad",
				Better: profiles.LessIsBetter, Group: profiles.Metrics, Absent: notCompared},
			seriesDifference: {Name: "batch_difference", Title: "difference between batches",
				Better: profiles.LessIsBetter, Each: true, Absent: "every group is new in the first pass"},
		},
		Memory: []profiles.MemoryInfo{
			memoryWeights: {Name: "weights", Parameters: true}, memoryActivations: {Name: "activations"},
			memoryInputs:  {Name: "inputs"},
			memoryScratch: {Name: "scratch"}, memoryScan: {Name: "scan"}, memoryResults: {Name: "results"},
			memoryPlans: {Name: "kept_plans", Kept: true},
		},
		Pictures: []profiles.PictureInfo{
			pictureReconstruction: {Name: "reconstruction", Live: true}, picturePhase: {Name: "phase", Live: true},
			pictureDiffraction: {Name: "diffraction", Live: true}, pictureTruth: {Name: "truth"},
			picturePhaseTruth: {Name: "phase_truth"},
		},
		Quality: "psnr_db",
	}
}
