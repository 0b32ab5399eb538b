package export

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/export/schematest"
	"prismtop/profiles/settings"
)

// A table whose intervals are not known yet still is JSON, with null in their places.
func TestAblationJSONHasNullForWhatIsUnknown(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	a := &profiles.Ablation{Rows: []profiles.AblationRow{
		{Key: "amp", Off: "off", On: "bf16", OffNS: nan, OnNS: nan, Effect: nan, Low: -inf, High: inf, Quality: nan, QualityLow: -inf, QualityHigh: inf},
		{Key: "fft_cache", Off: "false", On: "true", OffNS: 4e6, OnNS: 3e6, Effect: -0.25, Low: -0.3, High: -0.2, Groups: 8,
			Quality: nan, QualityLow: -inf, QualityHigh: inf, OffBytes: 10, OnBytes: 4, HasMemory: true, Final: true},
	}}
	back := written(t, a)
	if back.Quality != nil || back.Factorial != nil {
		t.Errorf("quality %v, factorial %v", back.Quality, back.Factorial)
	}
	first, second := back.Rows[0], back.Rows[1]
	if first.Effect != nil || first.Interval != nil || first.OffMS != nil || first.MemoryBytes != nil || first.Verdict != "needs 6 more" {
		t.Errorf("%+v", first)
	}
	if *second.OffMS != 4 || *second.Interval != [2]float64{-0.3, -0.2} || *second.MemoryBytes != -6 || second.Verdict != "saves 25 %" {
		t.Errorf("%+v", second)
	}
}

// written returns an ablation as it is read back from its document.
func written(t *testing.T, a *profiles.Ablation) (back Ablation) {
	t.Helper()
	data, err := AblationJSON(a, settings.Values{}, "v", "baseline")
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&back); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return back
}

// twoFactors is the table of a factorial of two settings, with or without intervals.
func twoFactors(known bool) *profiles.Ablation {
	ratio := profiles.Ratio{Effect: math.NaN(), Low: -1, High: math.Inf(1)}
	if known {
		ratio = profiles.Ratio{Effect: 0.25, Low: 0.2, High: 0.3}
	}
	ns := ratio.Effect * 4e6
	return &profiles.Ablation{Ended: "complete", Rounds: 24, Quality: profiles.SeriesInfo{Name: "psnr_db"}, Factorial: &profiles.Factorial{
		Factors: []settings.Factor{
			{Name: "caches", Off: []settings.Assignment{{Key: "fft_cache", Value: "false"}, {Key: "mask_cache", Value: "false"}},
				On: []settings.Assignment{{Key: "fft_cache", Value: "true"}, {Key: "mask_cache", Value: "true"}}},
			{Name: "amp=bf16", Off: []settings.Assignment{{Key: "amp", Value: "off"}}, On: []settings.Assignment{{Key: "amp", Value: "bf16"}}},
		},
		Notes: []string{"", "emulated"}, Rounds: 24, Needed: 9, Intervals: 8, Final: true, CombinationNS: []float64{ns, ns, ns, ns},
		Alone: []profiles.Ratio{ratio, ratio}, Averaged: []profiles.Ratio{ratio, ratio},
		Interactions: []profiles.Interaction{{Of: []int{0, 1}, Ratio: ratio}}, Product: ratio, Whole: ratio, Excess: ratio,
	}}
}

// The document of a factorial has its settings, effects, interactions and combinations, with null for
// what is unknown.
func TestFactorialJSON(t *testing.T) {
	back := written(t, twoFactors(true))
	f := back.Factorial
	if *back.Quality != "psnr_db" || back.Rows == nil || len(back.Rows) != 0 || f == nil {
		t.Fatalf("%+v", back)
	}
	if f.Factors[0].On["mask_cache"] != "true" || f.Factors[1].Off["amp"] != "off" || f.Factors[1].Note != "emulated" || *f.Factors[0].Averaged.Effect != 0.25 {
		t.Errorf("factors %+v", f.Factors)
	}
	if in := f.Interactions[0]; len(in.Factors) != 2 || !*in.BeyondNoise || *in.Interval != [2]float64{0.2, 0.3} {
		t.Errorf("interaction %+v", in)
	}
	if len(f.Combinations) != 4 || len(f.Combinations[0].On) != 0 || f.Combinations[2].On[0] != "amp=bf16" || *f.Combinations[3].MS != 1 {
		t.Errorf("combinations %+v", f.Combinations)
	}
	if f.RoundsDone != 24 || f.RoundsNeeded != 9 || f.Intervals != 8 || f.Verdict == "" || *f.Excess.Effect != 0.25 {
		t.Errorf("%+v", f)
	}
	f = written(t, twoFactors(false)).Factorial
	if f.Whole.Effect != nil || f.Product.Interval != nil || f.Interactions[0].BeyondNoise != nil || f.Combinations[0].MS != nil {
		t.Errorf("%+v", f)
	}
}

// The summary of a run has the table of its newest ablation.
func TestASummaryHasTheAblation(t *testing.T) {
	s := whole(t)
	s.Compared = &profiles.Ablation{Ended: "complete", Rounds: 8, Rows: []profiles.AblationRow{{Key: "amp", Off: "off", On: "bf16", Effect: -0.25, Low: -0.3, High: -0.2, Groups: 8, Final: true}}}
	sum := Summarize(s, source())
	if a := sum.Ablation; a == nil || a.Ended != "complete" || len(a.Rows) != 1 || a.Rows[0].Verdict != "saves 25 %" {
		t.Errorf("%+v", a)
	}
	document, err := json.Marshal(sum)
	if err == nil {
		err = schematest.Validate("run", document)
	}
	if err != nil {
		t.Error(err)
	}
	s.Compared = nil
	if sum := Summarize(s, source()); sum.Ablation != nil {
		t.Errorf("of a run without one: %+v", sum.Ablation)
	}
}

// The document on JSON names every field of an ablation.
func TestTheDocumentDescribesAblations(t *testing.T) {
	doc, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(doc), "## `prismtop bench ablation --json`")
	if !ok {
		t.Fatal("docs/json.md has no section on ablations")
	}
	fields := map[string]bool{}
	for _, kind := range []reflect.Type{reflect.TypeFor[Ablation](), reflect.TypeFor[Interaction](), reflect.TypeFor[Ratio](), reflect.TypeFor[Combination](), reflect.TypeFor[Factor]()} {
		collectFields(kind, fields)
	}
	for field := range fields {
		if !strings.Contains(section, "`"+field+"`") {
			t.Errorf("docs/json.md does not describe %s", field)
		}
	}
}
