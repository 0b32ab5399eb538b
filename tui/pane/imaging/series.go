package imaging

import (
	"math"

	"prismtop/profiles"
	"prismtop/tui/words"
)

// This file is the names of series and pictures that panes of imaging look for in a
// schema. A pane whose series are not there has nothing to show.

const (
	rmseSeries = "rmse_percent"
	seenSeries = "coverage"

	reconstructionPicture = "reconstruction"
	truthPicture          = "truth"
)

// wasCompared says whether the result was compared with the truth.
func wasCompared(s *profiles.Snapshot) bool { return s.Of(words.PSNRSeries).Has }

// coveredShare is the share of k-space that was seen, 0 to 1.
func coveredShare(s *profiles.Snapshot) float64 {
	if v := s.Of(seenSeries); v.Has {
		return v.Latest
	}
	return 0
}

// sameMetrics says whether two snapshots have the same metrics.
func sameMetrics(a, b *profiles.Snapshot) bool {
	for _, name := range []string{words.PSNRSeries, words.SSIMSeries, rmseSeries} {
		if x, y := a.Of(name), b.Of(name); x.Has != y.Has || x.Latest != y.Latest && !(math.IsNaN(x.Latest) && math.IsNaN(y.Latest)) {
			return false
		}
	}
	return true
}
