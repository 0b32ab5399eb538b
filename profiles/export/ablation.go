package export

import (
	"encoding/json"
	"math"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
)

// An ablation in JSON, of single settings and factorial.

// Ablation is an ablation in JSON, a document of its own.
type Ablation struct {
	Schema   int             `json:"schema"`
	Version  string          `json:"version"`
	Preset   string          `json:"preset"`
	Settings settings.Values `json:"settings"`
	AblationTable
}

// AblationTable is an ablation's table in JSON. What was not measured is null.
type AblationTable struct {
	Start   int           `json:"start"` // starts of the run before the one in which it began
	Work    string        `json:"work"`
	Ended   string        `json:"ended"`
	Rounds  int           `json:"rounds"`
	Seconds float64       `json:"seconds"`
	Quality *string       `json:"quality"` // the series by which the result is judged
	Rows    []AblationRow `json:"rows"`

	Factorial *Factorial `json:"factorial,omitempty"`
}

// AblationRow is one setting of the table.
type AblationRow struct {
	Setting      string      `json:"setting"`
	Off          string      `json:"off"`
	On           string      `json:"on"`
	OffMS        *float64    `json:"off_ms"` // around the middle of the groups
	OnMS         *float64    `json:"on_ms"`
	Effect       *float64    `json:"effect"` // on/off − 1
	Interval     *[2]float64 `json:"interval"`
	MemoryBytes  *int64      `json:"memory_bytes"` // on minus off
	Quality      *float64    `json:"quality_per_100"`
	QualityRange *[2]float64 `json:"quality_interval"`
	Groups       int         `json:"groups"`
	Iterations   int         `json:"iterations"`
	Verdict      string      `json:"verdict"`
	Note         string      `json:"note,omitempty"`
}

// AblationJSON returns the table as one indented JSON object.
func AblationJSON(a *profiles.Ablation, v settings.Values, version, preset string) ([]byte, error) {
	out := Ablation{Schema: Schema, Version: version, Preset: preset, Settings: v, AblationTable: *tableOf(a)}
	document, err := json.MarshalIndent(out, "", "  ")
	return visible.JSON(document), err
}

// ablationIn returns the table of the newest ablation of a run, nil for none.
func ablationIn(s *profiles.Snapshot) *AblationTable {
	if s.Compared != nil {
		return tableOf(s.Compared)
	}
	return nil
}

// tableOf returns the table in JSON.
func tableOf(a *profiles.Ablation) *AblationTable {
	out := &AblationTable{Start: a.Start, Work: a.Work, Ended: a.Ended, Rounds: a.Rounds, Seconds: a.Spent.Seconds(),
		Rows: []AblationRow{}, Factorial: factorial(a.Factorial)}
	if a.Quality.Name != "" {
		out.Quality = &a.Quality.Name
	}
	for i := range a.Rows {
		r := &a.Rows[i]
		to := AblationRow{
			Setting: r.Key, Off: r.Off, On: r.On, OffMS: known(r.OffNS / 1e6), OnMS: known(r.OnNS / 1e6),
			Effect: known(r.Effect), Interval: bounds(r.Low, r.High),
			Quality: known(r.Quality), QualityRange: bounds(r.QualityLow, r.QualityHigh),
			Groups: r.Groups, Iterations: r.Iterations, Verdict: r.Verdict(), Note: r.Note,
		}
		if r.HasMemory {
			bytes := r.OnBytes - r.OffBytes
			to.MemoryBytes = &bytes
		}
		out.Rows = append(out.Rows, to)
	}
	return out
}

// Factorial is the table of a factorial ablation.
type Factorial struct {
	Factors      []Factor      `json:"factors"`
	RoundsDone   int           `json:"rounds_done"`
	RoundsNeeded int           `json:"rounds_needed"` // by an interval
	Intervals    int           `json:"intervals"`     // in the table: they hold together in 95 % of cases
	Interactions []Interaction `json:"interactions"`
	Product      Ratio         `json:"product"` // of the single speed-ups
	Whole        Ratio         `json:"whole"`   // everything on over everything off
	Excess       Ratio         `json:"excess"`  // whole over product
	Verdict      string        `json:"verdict"`
	Combinations []Combination `json:"combinations"`
}

// Factor is what a factorial ablation switches as a whole.
type Factor struct {
	Name     string            `json:"name"`
	Off      map[string]string `json:"off"` // values by setting
	On       map[string]string `json:"on"`
	Alone    Ratio             `json:"alone"`    // with all others off
	Averaged Ratio             `json:"averaged"` // over the combinations of the others
	Note     string            `json:"note,omitempty"`
}

// Interaction is an interaction of factors.
type Interaction struct {
	Factors []string `json:"factors"`
	Ratio
	BeyondNoise *bool `json:"beyond_noise"`
}

// Ratio is a ratio of iteration times less one.
type Ratio struct {
	Effect   *float64    `json:"effect"`
	Interval *[2]float64 `json:"interval"`
}

// Combination is the time with some factors on.
type Combination struct {
	On []string `json:"factors_on"`
	MS *float64 `json:"ms"`
}

// factorial returns the table in JSON, nil for none.
func factorial(f *profiles.Factorial) *Factorial {
	if f == nil {
		return nil
	}
	out := &Factorial{
		RoundsDone: f.Rounds, RoundsNeeded: f.Needed, Intervals: f.Intervals, Interactions: []Interaction{},
		Combinations: []Combination{}, Product: ratio(f.Product), Whole: ratio(f.Whole), Excess: ratio(f.Excess),
		Verdict: f.Verdict(),
	}
	for i, factor := range f.Factors {
		out.Factors = append(out.Factors, Factor{
			Name: factor.Name, Off: assigned(factor.Off), On: assigned(factor.On),
			Alone: ratio(f.Alone[i]), Averaged: ratio(f.Averaged[i]), Note: f.Notes[i],
		})
	}
	for _, in := range f.Interactions {
		to := Interaction{Ratio: ratio(in.Ratio)}
		for _, i := range in.Of {
			to.Factors = append(to.Factors, f.Factors[i].Name)
		}
		if in.Known() {
			beyond := in.BeyondNoise()
			to.BeyondNoise = &beyond
		}
		out.Interactions = append(out.Interactions, to)
	}
	for on, ns := range f.CombinationNS {
		to := Combination{On: []string{}, MS: known(ns / 1e6)}
		for i := range f.Factors {
			if on>>i&1 == 1 {
				to.On = append(to.On, f.Factors[i].Name)
			}
		}
		out.Combinations = append(out.Combinations, to)
	}
	return out
}

func ratio(r profiles.Ratio) Ratio { return Ratio{known(r.Effect), bounds(r.Low, r.High)} }

func assigned(sets []settings.Assignment) map[string]string {
	values := map[string]string{}
	for _, a := range sets {
		values[a.Key] = a.Value
	}
	return values
}

func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func bounds(low, high float64) *[2]float64 {
	if known(low) == nil || known(high) == nil {
		return nil
	}
	return &[2]float64{low, high}
}
