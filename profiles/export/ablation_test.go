package export

import (
	"encoding/json"
	"math"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// A table whose intervals are not known yet still is JSON, with null in their places.
func TestAblationJSONHasNullForWhatIsUnknown(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	a := &profiles.Ablation{Rows: []profiles.AblationRow{
		{Key: "amp", Off: "off", On: "bf16", OffNS: nan, OnNS: nan, Effect: nan, Low: -inf, High: inf, Quality: nan, QualityLow: -inf, QualityHigh: inf},
		{Key: "fft_cache", Off: "false", On: "true", OffNS: 4e6, OnNS: 3e6, Effect: -0.25, Low: -0.3, High: -0.2, Groups: 8,
			Quality: nan, QualityLow: -inf, QualityHigh: inf, OffBytes: 10, OnBytes: 4, HasMemory: true},
	}}
	data, err := AblationJSON(a, settings.Values{}, "v", "baseline")
	if err != nil {
		t.Fatal(err)
	}
	var back Ablation
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	first, second := back.Rows[0], back.Rows[1]
	if first.Effect != nil || first.Interval != nil || first.OffMS != nil || first.MemoryBytes != nil || first.Verdict != "needs 6 more" {
		t.Errorf("%+v", first)
	}
	if *second.OffMS != 4 || *second.Interval != [2]float64{-0.3, -0.2} || *second.MemoryBytes != -6 || second.Verdict != "saves 25 %" {
		t.Errorf("%+v", second)
	}
}
