package suite

import (
	"math"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/criteria"
	"prismtop/profiles/report"
	"prismtop/sim/prism"
)

// trained returns a training of one run.
func trainedAs(mode string, rate, final, ssim, norm float64) *Training {
	spread := report.Spread{Median: norm, P10: norm, P90: norm, N: 1}
	return &Training{Mode: mode, LearningRate: 1e-3, Runs: []TrainRun{{Seed: 1, Rate: report.Finite(rate), FinalLoss: report.Finite(final), SSIM: report.Finite(ssim), Gradients: &spread}}}
}

func verdicts(all []AMPCriterion) (s string) {
	for _, k := range all {
		s += map[criteria.Verdict]string{criteria.Pass: "P", criteria.Fail: "F", criteria.Impossible: "-"}[k.Verdict]
	}
	return s
}

// The rules are those of PRISM's guide: 20 % of the rate of convergence, 15 % of the final loss, 2 % of SSIM.
func TestTheGuidesRulesAreJudged(t *testing.T) {
	base := trainedAs("off", 0.02, 0.1, 0.5, 10)
	for want, mode := range map[string]*Training{
		"PPPPP": trainedAs("bf16", 0.0165, 0.113, 0.481, 19),
		"FPPPP": trainedAs("bf16", 0.0155, 0.1, 0.5, 10),
		"PFPPP": trainedAs("bf16", 0.02, 0.1155, 0.5, 10),
		"PPFPP": trainedAs("bf16", 0.02, 0.1, 0.475, 10),
		"PPPFP": trainedAs("bf16", 0.02, 0.1, 0.5, 4.9),
		"FFFPP": trainedAs("bf16", math.NaN(), math.Inf(1), math.NaN(), 10),
	} {
		if got := verdicts(judgeMode(base, mode, 100)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	// What is better than float32 is no risk.
	if got := verdicts(judgeMode(base, trainedAs("bf16x3", 0.025, 0.08, 0.6, 10), 100)); got != "PPPPP" {
		t.Errorf("faster, lower, and more alike: %s", got)
	}
	unstable := trainedAs("fp16", 0.02, 0.1, 0.5, 10)
	unstable.Runs[0].Skipped = 11
	if got := verdicts(judgeMode(base, unstable, 100)); got != "PPPPF" {
		t.Errorf("11 of 100 steps skipped: %s", got)
	}
	if got := verdicts(judgeMode(trainedAs("off", 0, 0.1, 0.5, 10), unstable, 1000)); got != "-PPPP" {
		t.Errorf("float32 does not converge: %s", got)
	}
	// What float32 does to itself by rounding is not a mode's fault.
	mode := judgeMode(base, trainedAs("bf16", 0.02, 0.125, 0.4, 10), 100)
	excuse(mode, judgeMode(base, trainedAs(Control, 0.02, 0.13, 0.5, 10), 100))
	if got := verdicts(mode); got != "P-FPP" || !strings.HasSuffix(mode[1].Reason, "+30.0 %") {
		t.Errorf("%s: %+v", got, mode)
	}
	// Beyond that it is.
	for _, final := range []float64{0.2, math.Inf(1)} {
		mode = judgeMode(base, trainedAs("bf16", 0.02, final, 0.5, 10), 100)
		excuse(mode, judgeMode(base, trainedAs(Control, 0.02, 0.13, 0.5, 10), 100))
		if got := verdicts(mode); got != "PFPPP" {
			t.Errorf("a final loss of %g: %s", final, got)
		}
	}
}

// What was not measured passes no criterion, and each pass over a pattern measures the same centres.
func TestTheAcceptanceListKnowsWhatItDoesNotKnow(t *testing.T) {
	run := func(hits, misses int64) Result {
		return Result{Samples: 300, Centres: 100, Seconds: 1, Phases: map[string]float64{}, RSSReason: "unknown",
			Caches: map[string]Cache{"measurement": {Enabled: true, Hits: hits, Misses: misses}}}
	}
	c := &Comparison{Preset: "standard", Set: Documented, Results: [2][]Result{{run(0, 300)}, {run(200, 100)}}}
	c.judge()
	if c.PSNR != nil {
		t.Errorf("a PSNR of %+v", c.PSNR)
	}
	for _, k := range c.checklist() {
		switch k.Name {
		case "no quality regression":
			if k.Verdict != criteria.Fail || k.Reason != "PSNR was not measured" {
				t.Errorf("%+v", k)
			}
		case "cache hit rate":
			if k.Verdict != criteria.Impossible || !strings.Contains(k.Reason, "300 measurements at 100 different centres hit 67 % at most") {
				t.Errorf("%+v", k)
			}
		}
	}
	// Where the pattern allows it, too few hits are a failure.
	c.Results[1][0].Caches["measurement"] = Cache{Enabled: true, Hits: 600, Misses: 400}
	schema := prism.Schema()
	if k := c.hits(schema.Acceptance.Criterion(profiles.OfHits)); k.Verdict != criteria.Fail {
		t.Errorf("%+v", k)
	}
}

// A slower side is slower, not faster by less than nothing, and an interval that holds both decides neither.
func TestASlowerSideIsNotFaster(t *testing.T) {
	for _, tt := range []struct {
		base, optimized []float64
		want            string
	}{
		{[]float64{9, 9.1, 9.2, 9.1, 9, 9.1}, []float64{10, 10.1, 10.2, 10, 10.1, 10}, "time added 10.9 % [9.9, 12.2], 10 % slower"},
		{[]float64{16, 16.1, 16.2, 16.1, 16, 16}, []float64{10, 10.1, 10.2, 10, 10.1, 10}, "time saved 37.4 % [36.9, 37.9], 60 % faster"},
		{[]float64{9, 11, 9.2, 11.1, 9, 11}, []float64{10, 10.1, 10.2, 10, 10.1, 10}, "undecided"},
	} {
		c := &Comparison{}
		for i := range tt.base {
			c.Results[0], c.Results[1] = append(c.Results[0], Result{Seconds: tt.base[i]}), append(c.Results[1], Result{Seconds: tt.optimized[i]})
		}
		c.judge()
		if got := c.gain(); !strings.HasSuffix(got, tt.want) || strings.Contains(got, "-") && tt.want != "undecided" {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestTheFallOfALossIsItsSlope(t *testing.T) {
	var losses []float64
	for i := range 50 {
		losses = append(losses, 3*math.Exp(-0.02*float64(i)))
	}
	if got := fallOf(losses); math.Abs(got-0.02) > 1e-12 {
		t.Errorf("%g", got)
	}
}

func TestMemoryAdviceWhereMemoryIsShort(t *testing.T) {
	z := &AMPSize{Available: 3_000_000_000, Checkpointing: 1_500_000_000}
	m := &AMPMode{Mode: "bf16", OffBytes: 2_000_000_000, OnBytes: 2_200_000_000}
	if got, want := memoryAdvice(z, m), "memory is short: float32 takes 2000 MB of 3000 MB, checkpointing saves 500 MB"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	m.OnBytes, z.Checkpointing = 1_900_000_000, m.OffBytes
	if got := memoryAdvice(z, m); !strings.HasSuffix(got, ", bf16 saves 100 MB") {
		t.Error(got)
	}
	m.OnBytes = m.OffBytes
	if got := memoryAdvice(z, m); !strings.Contains(got, "neither bf16 nor checkpointing saves any") {
		t.Error(got)
	}
	z.Available = 5_000_000_000
	if got := memoryAdvice(z, m); got != "" {
		t.Errorf("there is enough: %q", got)
	}
}

// Verdicts of the documents' figures follow from the whole interval.
func TestFiguresAreJudgedByTheirIntervals(t *testing.T) {
	for _, tt := range []struct {
		of        report.Interval
		low, high float64 // of the claim; 0 is none
		want      string
	}{
		{report.Between(1.94, 0.71, 5.25), 2, 5, "undecided: it lies from 0.710 to 5.25"}, {report.Between(3, 0.71, 5.25), 2, 5, "undecided: it lies from 0.710 to 5.25"},
		{report.Between(3, 2.5, 4), 2, 5, "as claimed"}, {report.Between(1.5, 1.2, 1.8), 2, 5, "less than claimed (0.750x)"}, {report.Between(10, 8, 12), 2, 5, "more than claimed (2x)"},
		{report.Between(3.5, 3.1, 4), 3, 0, "as claimed"}, {report.Between(3.5, 2.5, 4), 3, 0, "undecided: it lies from 2.50 to 4"}, {report.Between(2, 1.5, 2.9), 3, 0, "less than claimed (0.667x)"},
		{report.Between(5.1, 4.9, 5.3), 5, 5, "as claimed within 10 %"}, {report.Between(5.1, 4, 5.3), 5, 5, "undecided: it lies from 4 to 5.30"}, {report.Between(4, 3.9, 4.1), 5, 5, "less than claimed (0.800x)"},
		{report.Exact(5.02), 5, 5, "as claimed"}, {report.Exact(5.2), 5, 5, "more than claimed (1.04x)"}, {report.Exact(3), 2, 5, "as claimed"},
	} {
		f := Figure{Text: "2-5x", Low: tt.low}
		if tt.high > 0 {
			f.High = &tt.high
		}
		if got := f.verdict(tt.of); got != tt.want {
			t.Errorf("%v of %v beside [%g, %g]: %q, want %q", tt.of.Value, tt.of, tt.low, tt.high, got, tt.want)
		}
	}
}
