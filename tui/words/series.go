package words

import (
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
)

// This file describes losses and metrics.

// Series with a format of their own.
const (
	PSNRSeries = "psnr_db"
	SSIMSeries = "ssim"
)

// Metric is a measure of the result against the truth: a series of the group Metrics.
type Metric struct {
	ID int
	*profiles.SeriesInfo
}

// MetricsOf returns the metrics that the schema declares.
func MetricsOf(s *profiles.Snapshot) (all []Metric) {
	for _, id := range s.Run.Schema.Group(profiles.Metrics) {
		all = append(all, Metric{id, &s.Run.Schema.Series[id]})
	}
	return all
}

// Format formats a value with its unit.
func (m Metric) Format(v float64) string {
	switch m.Name {
	case PSNRSeries:
		return strings.Replace(strings.TrimSpace(unit.PSNR(v)), "-", "−", 1)
	case SSIMSeries:
		return strings.TrimSpace(unit.SSIM(v))
	}
	text := strings.Replace(strings.TrimSpace(unit.Fixed(v, 5)), "-", "−", 1)
	if unit, _, _ := strings.Cut(m.Unit, " "); unit != "" { // "% of the truth's RMS"
		text += " " + unit
	}
	return text
}

// Heading returns the metric's title with its unit.
func (m Metric) Heading() string {
	if m.Unit == "" {
		return m.Title
	}
	return m.Title + ", " + m.Unit
}

// Loss is a loss series that has a value.
type Loss struct {
	Title string
	profiles.SeriesView
	Place int // in its group
}

// Text returns the loss's name and newest value.
func (l Loss) Text() string { return l.Title + " " + strings.TrimSpace(unit.Loss(l.Latest)) }

// CurrentLosses returns the losses of the newest iteration, one that it lacks beside others as NaN. Outside the units
// of work, a single one is called just "loss".
func CurrentLosses(s *profiles.Snapshot) []Loss {
	var all []Loss
	any := false
	for i, id := range s.Run.Schema.Group(profiles.Losses) {
		if v := s.Series[id]; len(v.Curve) > 0 && (!math.IsNaN(v.Latest) || s.InUnits()) {
			all = append(all, Loss{s.Run.Schema.Series[id].Title, v, i})
			any = any || !math.IsNaN(v.Latest)
		}
	}
	if !any {
		return nil
	}
	if len(all) == 1 && !s.InUnits() {
		all[0].Title = "loss"
	}
	return all
}

// QualityText formats the newest value of the schema's quality, with its name; "" without one.
func QualityText(s *profiles.Snapshot) string {
	id := s.Run.Schema.SeriesNamed(s.Run.Schema.Quality)
	if id < 0 || !s.Series[id].Has {
		return ""
	}
	m := Metric{id, &s.Run.Schema.Series[id]}
	return m.Title + " " + m.Format(s.Series[id].Latest)
}
