package recommend

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

var table = settings.NewTable("test", nil,
	settings.Switch("computing", "cache", "keeps results").Live().Called("cache", 'c').Press("c", settings.MoveNext, "cache"),
	settings.Switch("computing", "thrift", "holds less").Live().Called("thrift", 't').Press("t", settings.MoveNext, "thrift"),
	settings.Text("computing", "amp", "mixed precision", "off", "bf16", "fp16").Live().Called("amp", 'a').Press("a", settings.MoveNext, "amp"),
	settings.Switch("computing", "fixed", "is read at the start").Fixed("it is read at the start"),
)

// compared returns an ablation of rows under settings.
func compared(t *testing.T, sets []settings.Assignment, rows ...profiles.AblationRow) *profiles.Ablation {
	t.Helper()
	v, err := table.Zero().With(append([]settings.Assignment{{Key: "amp", Value: "off"}}, sets...)...)
	if err != nil {
		t.Fatal(err)
	}
	return &profiles.Ablation{Base: v, Rows: rows, Quality: profiles.SeriesInfo{Name: "psnr", Title: "PSNR", Unit: "dB", Better: profiles.MoreIsBetter}}
}

func row(key, off, on string, effect, low, high float64) profiles.AblationRow {
	return profiles.AblationRow{Key: key, Off: off, On: on, Effect: effect, Low: low, High: high, Groups: 8, Final: true, OffBytes: 100e6, OnBytes: 100e6, HasMemory: true}
}

func TestRecommendationsAreOrderedByWhatTheySave(t *testing.T) {
	a := compared(t, []settings.Assignment{{Key: "fixed", Value: "true"}},
		row("cache", "false", "true", -0.05, -0.06, -0.04), row("amp", "off", "bf16", -0.3, -0.32, -0.28), row("amp", "off", "fp16", 0.1, 0.08, 0.12),
		row("fixed", "false", "true", -0.2, -0.22, -0.18))
	a.Rows[1].OnBytes, a.Rows[1].QualityGroups, a.Rows[1].Quality, a.Rows[1].QualityLow, a.Rows[1].QualityHigh = 60e6, 8, -0.3, -0.4, -0.2
	list := List(a, func(key, value string) []string { return map[string][]string{"ampbf16": {"AMX"}}[key+value] })
	var got []string
	for _, r := range list {
		got = append(got, string(r.Priority)+" "+r.Action()+", requires "+r.Requires)
	}
	want := []string{"high set amp = bf16, requires AMX", "medium set cache = true, requires nothing", "high fixed = true is in force, requires a restart"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if r := list[0]; math.Abs(r.Speedup.Value-1/0.7) > 1e-9 || math.Abs(r.Speedup.Low-1/0.72) > 1e-9 || *r.Memory != -40e6 || !strings.Contains(r.Caution, "PSNR dB -0.30") {
		t.Errorf("%+v", r)
	}
	var b bytes.Buffer
	a.Foreign, a.ForeignKnown = 0.016, true
	if err := WriteText(&b, list, a); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"other programs took 1.6 % of the processors meanwhile\n", "[ ]  high", "1.43x [1.39, 1.47]", "−40.0 MB", "no: --set amp=bf16", "[x]  high", "yes, in force"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

// What costs time and is on is switched off; what only frees memory is of low priority; what was not decided, and
// what is as it should be, is left out.
func TestOtherJudgements(t *testing.T) {
	thrift := row("thrift", "false", "true", 0.3, 0.28, 0.32)
	thrift.OnBytes = 50e6
	costs := compared(t, []settings.Assignment{{Key: "cache", Value: "true"}}, row("cache", "false", "true", 0.25, 0.2, 0.3), thrift)
	list := List(costs, nil)
	if len(list) != 2 || list[0].Value != "false" || list[0].Priority != High || math.Abs(list[0].Saved.Value-0.2) > 1e-9 || list[0].Saved.Low >= list[0].Saved.Value {
		t.Fatalf("%+v", list)
	}
	if r := list[1]; r.Key != "thrift" || r.Priority != Low || r.Gain() != "costs 30 % [28, 32] of the time" || *r.Memory != -50e6 {
		t.Errorf("%+v, %s", r, r.Gain())
	}
	few := row("cache", "false", "true", -0.3, math.Inf(-1), math.Inf(1))
	few.Groups = 2
	for name, a := range map[string]*profiles.Ablation{
		"too few groups": compared(t, nil, few), "no effect": compared(t, nil, row("cache", "false", "true", 0, -0.02, 0.02)),
		"off, and costs": compared(t, nil, row("cache", "false", "true", 0.2, 0.18, 0.22)), "another value": compared(t, []settings.Assignment{{Key: "amp", Value: "fp16"}}, row("amp", "off", "bf16", -0.2, -0.22, -0.18)),
		"none": nil, "a replication": {Replication: true, Rows: []profiles.AblationRow{row("cache", "false", "true", -0.2, -0.22, -0.18)}},
	} {
		if list := List(a, nil); len(list) != 0 {
			t.Errorf("%s: %+v", name, list)
		}
	}
	var b bytes.Buffer
	some := compared(t, nil, row("cache", "false", "true", -0.2, -0.25, -0.15), row("amp", "off", "bf16", 0.2, 0.15, 0.25))
	if err := WriteText(&b, List(some, nil), some); err != nil || !strings.Contains(b.String(), "\nNot recommended:\nsetting  from → to   time of an iteration  verdict") || strings.Count(b.String(), "cache") != 2 {
		t.Errorf("%v, %s", err, b.String())
	}
	b.Reset()
	if err := WriteText(&b, nil, &profiles.Ablation{}); err != nil || !strings.HasPrefix(b.String(), "Nothing to recommend") {
		t.Errorf("%v, %q", err, b.String())
	}
	b.Reset()
	undecided := &profiles.Ablation{Rows: []profiles.AblationRow{few}}
	if err := WriteText(&b, nil, undecided); err != nil || !strings.HasPrefix(b.String(), "1 of 1 comparison could not be judged: it takes 6 groups of blocks each (--rounds).\n") {
		t.Errorf("%v, %q", err, b.String())
	}
	b.Reset() // what recommends nothing was measured all the same
	if err := WriteText(&b, nil, &profiles.Ablation{Rows: []profiles.AblationRow{row("cache", "false", "true", -0.024, -0.481, 0.821)}}); err != nil ||
		!strings.HasPrefix(b.String(), "Nothing to recommend") || !strings.Contains(b.String(), "false → true  −2 % [−48, 82]        undecided (± 82 %)") {
		t.Errorf("%v, %q", err, b.String())
	}
}

// What is said of the time follows from the whole interval.
func TestTheGainIsWhatItsIntervalAllows(t *testing.T) {
	for _, tt := range []struct {
		low, high float64
		want      string
	}{
		{-0.821, 0.481, "effect on the time undecided (± 82 %)"}, {-0.008, 0.009, "time equal within 1.0 %"}, {-0.02, 0.009, "effect on the time undecided (± 2.0 %)"},
		{-0.3, -0.1, "costs 20 % [10, 30] of the time"}, {0.1, 0.3, "saves 20 % [10, 30] of the time"},
	} {
		r := Recommendation{Saved: Interval{(tt.low + tt.high) / 2, tt.low, tt.high}}
		if got := r.Gain(); got != tt.want {
			t.Errorf("[%g, %g]: %q, want %q", tt.low, tt.high, got, tt.want)
		}
	}
}

// What is switched off and helps the quality comes with a warning, and what only frees memory saves no time.
func TestRecommendationsDoNotHideWhatTheyCost(t *testing.T) {
	a := compared(t, []settings.Assignment{{Key: "cache", Value: "true"}}, row("cache", "false", "true", 0.1, 0.08, 0.12), row("amp", "off", "bf16", -0.005, -0.02, 0.01))
	a.Rows[0].QualityGroups, a.Rows[0].Quality, a.Rows[0].QualityLow, a.Rows[0].QualityHigh = 8, 0.5, 0.4, 0.6
	a.Rows[1].OnBytes = 50e6
	list := List(a, nil)
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	for _, r := range list {
		switch r.Key {
		case "cache":
			if r.Value != "false" || !strings.Contains(r.Caution, "PSNR dB -0.50") {
				t.Errorf("%+v", r)
			}
		case "amp":
			if r.Gain() != "effect on the time undecided (± 2.0 %)" || r.Caution != "" {
				t.Errorf("%s: %+v", r.Gain(), r)
			}
		}
	}
}
