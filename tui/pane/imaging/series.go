package imaging

import (
	"math"

	"prismtop/profiles"
	"prismtop/tui/words"
)

// This file names the series and pictures of a schema that the imaging panes show. A pane
// without its series has nothing to show.

const (
	rmseSeries       = "rmse_percent"
	seenSeries       = "coverage"
	phaseErrorSeries = "phase_error_rad"

	reconstructionPicture = "reconstruction"
	truthPicture          = "truth"
	phasePicture          = "phase" // radians above −π
	phaseTruthPicture     = "phase_truth"
	predictionPicture     = "prediction"
	targetPicture         = "target"
	rawPicture            = "raw"
	diffractionPicture    = "diffraction" // ln(1 + amplitude)
)

// wasCompared reports whether the result was compared with the truth.
func wasCompared(s *profiles.Snapshot) bool { return s.Of(words.PSNRSeries).Has }

// coveredShare returns the measured share of k-space, 0 to 1.
func coveredShare(s *profiles.Snapshot) float64 {
	if v := s.Of(seenSeries); v.Has {
		return v.Latest
	}
	return 0
}

// sameMetrics reports whether two snapshots have the same values of the metrics.
func sameMetrics(a, b *profiles.Snapshot) bool {
	for _, name := range []string{words.PSNRSeries, words.SSIMSeries, rmseSeries, phaseErrorSeries} {
		if x, y := a.Of(name), b.Of(name); x.Has != y.Has ||
			x.Latest != y.Latest && !(math.IsNaN(x.Latest) && math.IsNaN(y.Latest)) {
			return false
		}
	}
	return true
}
