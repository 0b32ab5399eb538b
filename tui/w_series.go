package tui

import (
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
)

// This file is how losses and metrics are told.

// Series that are told in a way of their own where a schema has them.
const (
	psnrSeries = "psnr_db"
	ssimSeries = "ssim"
)

// metric is one way to compare the result with the truth: a series of the group.
type metric struct {
	id int
	*profiles.SeriesInfo
}

// metricsOf are the metrics that the schema declares.
func metricsOf(s *profiles.Snapshot) (all []metric) {
	for _, id := range s.Run.Schema.Group(profiles.Metrics) {
		all = append(all, metric{id, &s.Run.Schema.Series[id]})
	}
	return all
}

// format is a value with its unit.
func (m metric) format(v float64) string {
	switch m.Name {
	case psnrSeries:
		return strings.TrimSpace(unit.PSNR(v))
	case ssimSeries:
		return strings.TrimSpace(unit.SSIM(v))
	}
	text := strings.TrimSpace(unit.Fixed(v, 5))
	if unit, _, _ := strings.Cut(m.Unit, " "); unit != "" { // "% of the truth's RMS"
		text += " " + unit
	}
	return text
}

// title is a metric with its unit.
func (m metric) title() string {
	if m.Unit == "" {
		return m.Title
	}
	return m.Title + ", " + m.Unit
}

// currentLoss is a series of the losses that has a value.
type currentLoss struct {
	title string
	profiles.SeriesView
	place int // in its group
}

// text is the loss's name and newest value.
func (l currentLoss) text() string { return l.title + " " + strings.TrimSpace(unit.Loss(l.Latest)) }

// currentLosses are the losses that the newest iteration has. One that stands alone, outside
// the units of work, is just the loss.
func currentLosses(s *profiles.Snapshot) []currentLoss {
	var all []currentLoss
	for i, id := range s.Run.Schema.Group(profiles.Losses) {
		if v := s.Series[id]; len(v.Curve) > 0 && !math.IsNaN(v.Latest) {
			all = append(all, currentLoss{s.Run.Schema.Series[id].Title, v, i})
		}
	}
	if len(all) == 1 && !s.InUnits() {
		all[0].title = "loss"
	}
	return all
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
