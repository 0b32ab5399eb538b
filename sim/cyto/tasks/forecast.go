package tasks

import (
	"math"
	"slices"

	"prismtop/profiles/stats"
)

// This file judges what CytoDL's document forecasts of its phases, and of the spread between runs.

// forecast is what the document expects of a variant against main.
type forecast struct {
	variant string
	measure []string    // the names of the measure it is about, in either kind of task
	text    string      // as the document writes it
	speedUp stats.Claim // of the measure
}

// forecasts are those under "Expected Improvements". A reduction by 15 to 40 % of a time is a speed-up of 1.18 to 1.67.
var forecasts = []forecast{
	{"phase1", []string{"model_forward_first_batch", "first_batch_forward"}, "10-30% speedup in model forward pass", stats.Claim{From: 1.1, To: 1.3}},
	{"phase2", []string{"total_inference"}, "20-50% speedup in inference", stats.Claim{From: 1.2, To: 1.5}},
	{"phase3", []string{loadingKey, "first_batch_loading"}, "15-40% reduction in data loading time", stats.Claim{From: 1 / (1 - 0.15), To: 1 / (1 - 0.4)}},
	{"phase4", []string{"total_training", "total_inference"}, "No performance change", stats.Claim{From: 1, To: 1, Margin: spreadWithin}},
	{"combined", []string{"total_training", "total_inference"}, "40-80% overall speedup", stats.Claim{From: 1.4, To: 1.8}},
}

// forecast adds the document's forecast of a branch and its verdict to a measure, if there is one.
func (m *Measure) forecast(baseline, branch string) {
	v, err := VariantOf(branch)
	if err != nil {
		return
	}
	i := slices.IndexFunc(forecasts, func(f forecast) bool {
		return f.variant == v.Name &&
			slices.Contains(f.measure, m.Name)
	})
	if i < 0 {
		return
	}
	f := &forecasts[i]
	m.Forecast = f.text
	base, err := VariantOf(baseline)
	switch {
	case v.Name == "phase4" && (err != nil || base.Name != "phase3"):
		m.Verdict = "not judged: the phases are cumulative, so that phase3 must be the baseline"
		return
	case v.Name != "phase4" && (err != nil || base.Name != "main"):
		m.Verdict = "not judged: main must be the baseline"
		return
	}
	low, high := math.Inf(-1), math.Inf(1)
	if m.Low != nil && m.High != nil {
		low, high = *m.Low, *m.High
	}
	m.Verdict = map[stats.Finding]string{stats.Within: "as forecast", stats.Below: "less than forecast",
		stats.Above: "more than forecast", stats.Undecided: "undecided"}[f.speedUp.Judge(low, high)]
}

// spreadWithin is how far runs of the same task lie apart by the document: ±5 %.
const spreadWithin = 0.05

// Spread is how far the total times of a task's rounds lie from their median.
type Spread struct {
	Rounds  int     `json:"rounds"`
	Largest float64 `json:"largest"` // deviation, as a share of the median
	Verdict string  `json:"verdict"` // on the document's ±5 %
}

// spreadOf returns the spread of the total time; nil for fewer than two rounds.
func spreadOf(rounds []Round) *Spread {
	all := rounds[0].Metrics.measures()
	if len(all) == 0 {
		return nil
	}
	var values []float64
	for i := range rounds {
		if v := rounds[i].Metrics.value(all[0].name); v != nil && *v > 0 {
			values = append(values, *v)
		}
	}
	if len(values) < 2 {
		return nil
	}
	slices.Sort(values)
	median := stats.Quantile(values, 0.5)
	s := &Spread{Rounds: len(values), Largest: math.Max(values[len(values)-1]-median, median-values[0]) / median,
		Verdict: "within it"}
	if s.Largest > spreadWithin {
		s.Verdict = "beyond it"
	}
	return s
}
