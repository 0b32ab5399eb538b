package tui

import (
	"math"

	"prismtop/profiles"
	"prismtop/tui/theme"
)

// This file is the names of series and pictures that panes of imaging look for in a
// schema. A pane whose series are not there has nothing to show.

const (
	lossOld    = "loss_old"
	lossNew    = "loss_new"
	psnrSeries = "psnr_db"
	ssimSeries = "ssim"
	rmseSeries = "rmse_percent"
	seenSeries = "coverage"
	rateSeries = "learning_rate"

	reconstructionPicture = "reconstruction"
	truthPicture          = "truth"
)

// currentLoss is a series of the losses that has a value.
type currentLoss struct {
	title string
	profiles.SeriesView
	style theme.Style
}

// text is the loss's name and newest value.
func (l currentLoss) text() string { return l.title + " " + trim(loss(l.Latest)) }

// currentLosses are the losses that the newest iteration has. One that stands alone, outside
// the units of work, is just the loss.
func currentLosses(s *profiles.Snapshot) []currentLoss {
	var all []currentLoss
	for i, id := range s.Run.Schema.Group(profiles.Losses) {
		if v := s.Series[id]; len(v.Curve) > 0 && !math.IsNaN(v.Latest) {
			all = append(all, currentLoss{s.Run.Schema.Series[id].Title, v, lossStyle(s, i)})
		}
	}
	if len(all) == 1 && !s.InUnits() {
		all[0].title = "loss"
	}
	return all
}

// lossStyle is the style of a loss's curve, by its place in the group: the last is the one
// that training works on.
func lossStyle(s *profiles.Snapshot, i int) theme.Style {
	switch last := len(s.Run.Schema.Group(profiles.Losses)) - 1; {
	case i == last:
		return theme.LossNew
	case i == 0:
		return theme.LossOld
	}
	return theme.Line
}

// qualityText is the newest value of the schema's quality, with its name; empty without one.
func qualityText(s *profiles.Snapshot) string {
	id := s.Run.Schema.SeriesNamed(s.Run.Schema.Quality)
	if id < 0 || !s.Series[id].Has {
		return ""
	}
	m := metric{id, &s.Run.Schema.Series[id]}
	return m.Title + " " + m.format(s.Series[id].Latest)
}

// wasCompared says whether the result was compared with the truth.
func wasCompared(s *profiles.Snapshot) bool { return s.Of(psnrSeries).Has }

// coveredShare is the share of k-space that was seen, 0 to 1.
func coveredShare(s *profiles.Snapshot) float64 {
	if v := s.Of(seenSeries); v.Has {
		return v.Latest
	}
	return 0
}

// sameMetrics says whether two snapshots have the same metrics.
func sameMetrics(a, b *profiles.Snapshot) bool {
	for _, name := range []string{psnrSeries, ssimSeries, rmseSeries} {
		if x, y := a.Of(name), b.Of(name); x.Has != y.Has || x.Latest != y.Latest && !(math.IsNaN(x.Latest) && math.IsNaN(y.Latest)) {
			return false
		}
	}
	return true
}
