package export

import (
	"encoding/json"
	"math"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
)

// Ablation is an ablation's table in JSON. What was not measured is null.
type Ablation struct {
	Schema   int             `json:"schema"`
	Version  string          `json:"version"`
	Preset   string          `json:"preset"`
	Settings settings.Values `json:"settings"`
	Work     string          `json:"work"`
	Ended    string          `json:"ended"`
	Rounds   int             `json:"rounds"`
	Seconds  float64         `json:"seconds"`
	Rows     []AblationRow   `json:"rows"`
}

// AblationRow is one setting of the table.
type AblationRow struct {
	Setting      string      `json:"setting"`
	Off          string      `json:"off"`
	On           string      `json:"on"`
	OffMS        *float64    `json:"off_ms"`
	OnMS         *float64    `json:"on_ms"`
	Effect       *float64    `json:"effect"` // on/off − 1
	Interval     *[2]float64 `json:"interval"`
	MemoryBytes  *int64      `json:"memory_bytes"` // on minus off
	PSNR         *float64    `json:"psnr_db_per_100"`
	PSNRInterval *[2]float64 `json:"psnr_interval"`
	Groups       int         `json:"groups"`
	Iterations   int         `json:"iterations"`
	Verdict      string      `json:"verdict"`
	Note         string      `json:"note,omitempty"`
}

// AblationJSON returns the table as one indented JSON object.
func AblationJSON(a *profiles.Ablation, v settings.Values, version, preset string) ([]byte, error) {
	out := Ablation{
		Schema: Schema, Version: version, Preset: preset, Settings: v, Work: a.Work, Ended: a.Ended,
		Rounds: a.Rounds, Seconds: a.Spent.Seconds(),
	}
	for i := range a.Rows {
		r := &a.Rows[i]
		to := AblationRow{
			Setting: r.Key, Off: r.Off, On: r.On, OffMS: known(r.OffNS / 1e6), OnMS: known(r.OnNS / 1e6),
			Effect: known(r.Effect), Interval: bounds(r.Low, r.High),
			PSNR: known(r.Quality), PSNRInterval: bounds(r.QualityLow, r.QualityHigh),
			Groups: r.Groups, Iterations: r.Iterations, Verdict: r.Verdict(), Note: r.Note,
		}
		if r.HasMemory {
			bytes := r.OnBytes - r.OffBytes
			to.MemoryBytes = &bytes
		}
		out.Rows = append(out.Rows, to)
	}
	document, err := json.MarshalIndent(out, "", "  ")
	return visible.JSON(document), err
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
