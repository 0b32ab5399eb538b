package bench

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
	"prismtop/sim/workloads"
)

var smallAblation = ablation.Options{Rounds: 6, Least: 3, Time: time.Microsecond, Only: []string{"checkpointing", "fft_cache"}}

func smallField(t *testing.T) settings.Values {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: "quick", Sets: []string{
		"size=64", "object_size=32", "radius=10", "roi_diameter=40", "samples=6", "channels=", "latent=0"}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAblationMeasuresLaterSamples(t *testing.T) {
	told := 0
	a, _, err := Ablation(t.Context(), workloads.PRISM(workloads.Devices{}), smallField(t), smallAblation, func(*profiles.Ablation) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	if a.Work != "later samples" || a.Ended != "complete" || told < 4*a.Groups {
		t.Errorf("%q, ended %q, told %d times of %d groups", a.Work, a.Ended, told, a.Groups)
	}
	var b strings.Builder
	if err := WriteAblation(&b, a); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"later samples · 6 rounds", "checkpointing", "fft_cache", "95 % interval"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

// A factorial's table names its settings, its interactions and the verdict, and a workload without
// a quality has no column for it.
func TestFactorialsAreWritten(t *testing.T) {
	v := smallField(t)
	factors, err := v.Table().ParseFactors([]string{"checkpointing", "fft_cache", "mask_cache"})
	if err != nil {
		t.Fatal(err)
	}
	o := ablation.Options{Factors: factors, Rounds: 10, Least: 3, Time: time.Microsecond}
	told := 0
	a, _, err := Ablation(t.Context(), workloads.PRISM(workloads.Devices{}), v, o, func(*profiles.Ablation) { told++ })
	if err != nil {
		t.Fatal(err)
	}
	if a.Ended != "complete" || a.Done != 80 || told < 80 {
		t.Errorf("ended %q after %d blocks, told %d times", a.Ended, a.Done, told)
	}
	var b strings.Builder
	if err := WriteAblation(&b, a); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"later samples · 10 rounds of 8 combinations", "fft_cache × checkpointing", "fft_cache × mask_cache × checkpointing",
		"product of the single speed-ups", "measured over product", "multipl", "everything\n", "none\n", "the 13 intervals hold together"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

// Only a workload with a quality has a column for it.
func TestTheQualitysColumnIsTheWorkloads(t *testing.T) {
	for want, quality := range map[string]profiles.SeriesInfo{
		"PSNR dB/100": {Name: "psnr_db", Title: "PSNR", Unit: "dB"}, "error/100": {Name: "error", Title: "error"}, "": {},
	} {
		a := &profiles.Ablation{Ended: "complete", Quality: quality, Rows: []profiles.AblationRow{{Key: "fft_cache", On: "true"}}}
		var b strings.Builder
		if err := WriteAblation(&b, a); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "/100") != (want != "") || !strings.Contains(b.String(), want) || strings.Contains(b.String(), "PSNR") != strings.Contains(want, "PSNR") {
			t.Errorf("want the column %q:\n%s", want, b.String())
		}
	}
}

// A gain without an interval, or with one that holds 0, is no number.
func TestAGainThatIsUndecidedIsNoNumber(t *testing.T) {
	inf := math.Inf(1)
	for want, r := range map[string]profiles.AblationRow{
		"–":                          {Quality: 11.94, QualityLow: -inf, QualityHigh: inf, QualityGroups: 3},
		"undecided [-0.110, +0.140]": {Quality: 0.02, QualityLow: -0.11, QualityHigh: 0.14, QualityGroups: 14},
		"-0.820 [-0.900, -0.700]":    {Quality: -0.82, QualityLow: -0.9, QualityHigh: -0.7, QualityGroups: 8},
	} {
		if got := gain(&r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAblationCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := Ablation(ctx, workloads.PRISM(workloads.Devices{}), smallField(t), ablation.Options{Rounds: 1000}, func(*profiles.Ablation) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// An ablation that is interrupted returns the table of what it measured.
func TestAnInterruptedAblationKeepsItsTable(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	o := smallAblation
	o.Rounds = 1000
	a, _, err := Ablation(ctx, workloads.PRISM(workloads.Devices{}), smallField(t), o, func(a *profiles.Ablation) {
		if a.Done > 2 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || a == nil || a.Ended != "interrupted" || a.Running || a.Done < 3 {
		t.Fatalf("%+v (%v)", a, err)
	}
	var b strings.Builder
	if err := WriteAblation(&b, a); err != nil || !strings.Contains(b.String(), "the ablation ended early: interrupted") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// A setting that an interrupted ablation did not reach has dashes.
func TestARowThatWasNotMeasuredHasDashes(t *testing.T) {
	none := math.NaN()
	a := &profiles.Ablation{Work: "later samples", Rounds: 6, Ended: "interrupted", Rows: []profiles.AblationRow{{
		Key: "amp", OffNS: 2e6, OnNS: none, OffBytes: 21e6, Effect: none, Low: none, High: none, Quality: none,
	}}}
	var b strings.Builder
	if err := WriteAblation(&b, a); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Contains(got, "NaN") || strings.Contains(got, "-21") || strings.Count(got, "–") < 4 {
		t.Errorf("%s", got)
	}
}
