package throughput

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"prismtop/profiles/stats"
	"prismtop/profiles/sweep"
)

// Optimum is the batch size to use, the smallest of Flat.
type Optimum struct {
	BatchSize  int    `json:"batch_size"`
	ImagesPerS Spread `json:"images_per_s"`
	sweep.Optimum
}

// optimum finds the batch size to use by what a function makes of the runs; nil for no run.
func (s *Sweep) optimum(rate func(v *size, r *timed) float64) *Optimum {
	rates := s.ratesOf(rate)
	o := rates.Optimum(s.o.Tolerance)
	if o == nil {
		return nil
	}
	return &Optimum{o.Flat[0], *spreadOf(slices.Collect(maps.Values(rates[o.Flat[0]]))), *o}
}

// ratesOf returns what a function makes of the runs of all sizes that did not fail.
func (s *Sweep) ratesOf(rate func(v *size, r *timed) float64) sweep.Rates {
	all := sweep.Rates{}
	for b, v := range s.sizes {
		if v.status != Success {
			continue
		}
		for i := range v.runs {
			r := &v.runs[i]
			if all[b] == nil {
				all[b] = map[int]float64{}
			}
			all[b][r.round] = rate(v, r)
		}
	}
	return all
}

// Stage is the batch size of one stage by itself.
type Stage struct {
	Name     string `json:"name"` // the document's
	Stage    string `json:"stage"`
	Document int    `json:"document"` // the document's default
	// Optimum is in groups; its throughput is that of the stage alone.
	Optimum *Optimum `json:"optimum"`
	Reason  string   `json:"optimum_reason,omitempty"`
}

// stages finds the batch size of each stage that works in batches.
func (s *Sweep) stages() []Stage {
	all := []Stage{{Name: "preprocessing", Stage: "normalise", Document: 128},
		{Name: "predict", Stage: "predict", Document: 32}, {Name: "reassembly", Stage: "reassemble", Document: 64}}
	for i := range all {
		stage := &all[i]
		of := allStages[slices.IndexFunc(allStages, func(n namedStage) bool { return n.name == stage.Stage })].of
		if fixed := s.fixed(stage.Stage); fixed > 0 {
			stage.Reason = fmt.Sprintf("fixed at %d", fixed)
			continue
		}
		stage.Optimum = s.optimum(func(v *size, r *timed) float64 {
			images := r.Groups * s.o.Job.Config().Channels()
			if stage.Stage == "predict" {
				images = r.Images
			}
			return float64(images) / max(of(r), 1e-9)
		})
		if stage.Optimum == nil {
			stage.Reason = "nothing was measured"
		}
	}
	return all
}

// fixed returns the batch size of a stage that does not follow that of the trials, or 0.
func (s *Sweep) fixed(stage string) int {
	switch stage {
	case "normalise":
		return s.o.Job.Preprocess
	case "reassemble":
		return s.o.Job.Reassemble
	}
	return 0
}

// Curve is the time of a batch as a line over its size, t = overhead + group·size, and the
// throughput that follows.
type Curve struct {
	OverheadMS float64 `json:"overhead_ms"` // of a batch
	GroupMS    float64 `json:"group_ms"`    // of each of its groups
	Ceiling    float64 `json:"ceiling"`     // images/s that larger batches approach
	Deviation  float64 `json:"deviation"`   // largest of a size from the curve, relative
}

// curve fits the curve to the medians of the times of batches, with equal relative weights;
// nil for fewer than three sizes.
func (r *Report) curve() *Curve {
	var x, y, w []float64
	for _, b := range r.Measured() {
		t := r.Of(b).BatchMS.Median
		x, y, w = append(x, float64(b)), append(y, t), append(w, 1/(t*t))
	}
	fixed, slope, _ := stats.Line(x, y, w)
	if len(x) < 3 || !(slope > 0) {
		return nil
	}
	c := &Curve{OverheadMS: fixed, GroupMS: slope, Ceiling: 1e3 * float64(r.Model.Channels) / slope}
	for i := range x {
		c.Deviation = max(c.Deviation, math.Abs(y[i]/(fixed+slope*x[i])-1))
	}
	return c
}
